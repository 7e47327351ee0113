#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel/plan.hpp"
#include "model/parallel/search/search.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// A plan of an answer beside the best one.
struct PlanRow {
  std::string part;  ///< of the answer, for records
  std::string change = {};
  model::parallel_search::FoundPlan found;
  std::string framework = {};  ///< as --framework has it
  std::string title = {};      ///< of the framework
  double of_best = 1;          ///< score over that of the best plan
  double flop_share = 0;
  double tokens = 0;  ///< of an iteration
  double need = 0;    ///< bytes of the rank that needs most
  double need_high = 0;
  [[nodiscard]] const parallel::ParallelPlan& plan() const { return found.answered.answer.plan; }
  [[nodiscard]] double seconds() const { return found.answered.answer.seconds(); }
  [[nodiscard]] double low() const { return found.answered.answer.low(); }
  [[nodiscard]] double high() const { return found.answered.answer.high(); }
  [[nodiscard]] double device() const { return found.answered.hardware.memory; }
  [[nodiscard]] double tokens_per_s() const { return tokens / seconds(); }
};

/// Requires a search with a best plan.
PlanRow row_of(const model::parallel_search::PlanSearch& search,
               const model::parallel_search::FoundPlan& found, std::string part,
               std::string change = {});
std::vector<PlanRow> rows_of(const model::parallel_search::PlanSearch& search,
                             const std::vector<model::parallel_search::FoundPlan>& plans,
                             const char* part);
/// Neighbours of the best plan, with the change of each in words, by score.
std::vector<PlanRow> neighbour_rows(const model::parallel_search::PlanSearch& search);

/// The fields of such rows. Columns that tell no rows apart, and the energy unless it is the
/// objective, are for programs alone. Tables leave out those that a plan can be read without first.
Fields<PlanRow> row_fields(const std::vector<PlanRow>& rows, bool shows_energy);

/// Lets tables leave out columns with these headings to fit their width, the last ones first.
template <class Row>
void may_leave_out(std::initializer_list<std::string_view> headings, Fields<Row>& fields) {
  int rank = 0;
  for (const std::string_view heading : headings) {
    ++rank;
    for (Field<Row>& field : fields) {
      if (field.header == heading) field.spare = rank;
    }
  }
}

/// The fields of row_fields() that say how GPUs are split.
Fields<PlanRow> split_fields(const std::vector<PlanRow>& rows);

/// The plan as predict --parallel takes it; bytes of states are the framework's.
std::string typed_plan(const parallel::ParallelPlan& plan);

std::string gb(double bytes);  ///< "75.4", of 10^9 bytes

/// "23.8 to 36.2", of seconds.
std::string interval_text(const PlanRow& row);

}  // namespace dlscale::report
