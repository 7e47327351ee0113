#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/parallel/answer/compared_plans.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "model/parallel/answer/step_parts.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// A parallel plan on its number of GPUs in the numbers that tables show.
struct ParallelRow {
  std::string label;         ///< "A", "B", … by plan; empty where there is one
  std::string plan;          ///< its text, with the number of replicas
  std::string without_data;  ///< the same without it
  std::string network;
  std::string cluster;
  std::string precision;
  std::string framework;
  std::string family;
  std::int64_t global_batch = 1;  ///< sequences
  std::int64_t sequence = 1;      ///< tokens
  int gpus = 1;
  int micro_batch = 1;
  int micro_batches = 1;
  double seconds = 1;
  double low = 1;
  double high = 1;
  double utilisation = 0;  ///< flop_utilisation()
  model::parallel_time::StepParts parts = {};
  std::string bound;
  model::parallel_time::FitQuestion memory = {};
  int stages = 1;
  std::string not_run_by;  ///< title of the framework if it does not run the plan as published
  [[nodiscard]] double tokens_per_s() const {
    return static_cast<double>(global_batch * sequence) / seconds;
  }
};

/// The rows of plans, in their order.
std::vector<ParallelRow> parallel_rows(const model::parallel_time::ComparedPlans& plans);

/// The label of each plan, as rows have it: "A", "B", …; all empty where there is one plan.
std::vector<std::string> plan_labels(const model::parallel_time::ComparedPlans& plans);

/// The question for programs: "network" to "micro_batches".
Fields<ParallelRow> parallel_question_fields();

/// Adds to the JSON of a row: "fullest_stage" from 1 where there are several, and "not_run_by".
void add_caveats(Json& object, const ParallelRow& row);

/// The fastest of these plans in JSON that fit; if none does, of those that may; else of all. Takes
/// 1 or more with "fits" and either "tokens_per_s" or "samples_per_s".
const Json& best_plan(const Json& plans);

/// Memory of the fullest GPU for programs: "memory_bytes" to "fits".
Fields<ParallelRow> parallel_memory_fields();

/// "yes" or "no" where both ends of the interval say so, else "unsure".
std::string fits_word(const model::parallel_time::FitQuestion& memory);
Cell fits_cell(const model::parallel_time::FitQuestion& memory);

/// How sure it is that a training fits.
enum class FitVerdict { surely, probably, unsure, probably_not, not_at_all };
FitVerdict fit_verdict(const model::parallel_time::FitQuestion& memory);

/// The verdict in a sentence: "Probably fits: the fullest GPU, of stage 1 of 4, needs 61.2 GB …".
/// `worker` names a rank: "GPU", "core".
std::string fit_sentence(const model::parallel_time::FitQuestion& memory, int stages,
                         std::string_view worker = "GPU");

/// "61.2 (54.0 … 70.3)" for the need and the ends of its interval, in GB.
std::string need_text(const model::memory::MemoryEstimate& need);

/// "61.2" for bytes.
std::string in_gb(double bytes);

/// The question in words: "llama3_70b on 512 GPUs of dgx_h100 by data=16,tensor=8,stages=4: 64
/// micro-batches of 1 sequence; 1024 sequences of 8192 tokens, bf16, as megatron (family engine)".
/// For several rows, it names the plan if all have the same but for their replicas.
std::string parallel_title(const std::vector<ParallelRow>& rows);

/// A line for each plan where there are several: "A: data=8,tensor=8". For rows with the fields
/// label, plan and without_data of ParallelRow.
template <class Row>
std::vector<std::string> plan_lines(const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  if (rows.front().label.empty()) return lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (i > 0 && row.label == rows[i - 1].label) continue;
    const bool is_alone = i + 1 == rows.size() || rows[i + 1].label != row.label;
    lines.push_back(row.label + ": " + (is_alone ? row.plan : row.without_data));
  }
  return lines;
}

}  // namespace dlscale::report
