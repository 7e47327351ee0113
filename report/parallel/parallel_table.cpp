#include "report/parallel/parallel_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/text/numbers.hpp"
#include "model/parallel/answer/answered_timeline.hpp"
#include "report/parallel/pipeline_chart.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::parallel_time::ComparedPlans;
using model::parallel_time::FitQuestion;
using model::parallel_time::StepParts;
using RowField = Field<ParallelRow>;

/// Labels and numbers of GPUs.
Fields<ParallelRow> place_fields(const std::vector<ParallelRow>& rows) {
  Fields<ParallelRow> fields;
  if (!rows.front().label.empty()) {
    fields.push_back(RowField::table(
        "plan", [](const ParallelRow& row) { return row.label; }, Align::left));
  }
  fields.push_back(RowField::table("GPUs", &ParallelRow::gpus, as::exact));
  return fields;
}

std::string memory_text(const ParallelRow& row) {
  return need_text(row.memory.need);
}

/// Narrow terminals go without the rate of a GPU, then without the bound.
Fields<ParallelRow> answer_fields(const std::vector<ParallelRow>& rows) {
  const Fields<ParallelRow> of_a_gpu{RowField::table(
      "a GPU", [](const ParallelRow& row) { return rate_text(row.tokens_per_s() / row.gpus); })};
  const Fields<ParallelRow> bound{RowField::table(
      "bound by", [](const ParallelRow& row) { return row.bound; }, Align::left)};
  return joined<ParallelRow>(
      {place_fields(rows),
       {RowField::table("tokens/s",
                        [](const ParallelRow& row) { return rate_text(row.tokens_per_s()); })},
       spared(2, of_a_gpu),
       {RowField::table(
            "step s",
            [](const ParallelRow& row) { return speedup_text(row.seconds, row.low, row.high); }),
        RowField::table("MFU", &ParallelRow::utilisation, as::percent),
        RowField::table(fmt::format("GB of {}", in_gb(rows.front().memory.device_bytes)),
                        memory_text),
        RowField::table("fits", via(&ParallelRow::memory, fits_cell), Align::left)},
       spared(1, bound)});
}

/// A part of the step in seconds; "–" where it rounds to nothing.
RowField part_field(const char* heading, double StepParts::*part) {
  return RowField::table(heading, [part](const ParallelRow& row) {
    constexpr double too_little = 5e-4;
    const double seconds = row.parts.*part;
    return seconds > too_little * row.seconds ? significant(seconds, 3) : "–";
  });
}

/// Waits for memory, where there are some.
Fields<ParallelRow> waits_fields(const std::vector<ParallelRow>& rows) {
  const bool none =
      std::ranges::none_of(rows, [](const ParallelRow& row) { return row.parts.waits > 0; });
  if (none) return {};
  return {part_field("+ waits for memory", &StepParts::waits)};
}

Fields<ParallelRow> part_fields(const std::vector<ParallelRow>& rows) {
  const Fields<ParallelRow> batches{
      RowField::table("micro-batches", &ParallelRow::micro_batches, as::exact)};
  const Fields<ParallelRow> step{RowField::table(
      "step s", [](const ParallelRow& row) { return significant(row.seconds, 3); })};
  return joined<ParallelRow>({place_fields(rows),
                              spared(2, batches),
                              spared(1, step),
                              {part_field("= compute", &StepParts::compute),
                               part_field("+ messages in layers", &StepParts::messages),
                               part_field("+ bubble", &StepParts::bubble),
                               part_field("+ gradients", &StepParts::gradients),
                               part_field("+ update", &StepParts::update)},
                              waits_fields(rows)});
}

Fields<ParallelRow> fields_for_programs() {
  using enum Meaning;
  const auto part = [](double StepParts::*which) { return via(&ParallelRow::parts, which); };
  return joined<ParallelRow>({parallel_question_fields(),
                              {{"tokens_per_s", value, &ParallelRow::tokens_per_s},
                               {"t_iter_s", value, &ParallelRow::seconds},
                               {"t_iter_low_s", value, &ParallelRow::low},
                               {"t_iter_high_s", value, &ParallelRow::high},
                               {"model_flop_utilisation", value, &ParallelRow::utilisation},
                               {"t_compute_s", value, part(&StepParts::compute)},
                               {"t_layer_messages_s", value, part(&StepParts::messages)},
                               {"t_bubble_s", value, part(&StepParts::bubble)},
                               {"t_gradients_s", value, part(&StepParts::gradients)},
                               {"t_update_s", value, part(&StepParts::update)},
                               {"t_memory_waits_s", value, part(&StepParts::waits)}},
                              parallel_memory_fields(),
                              {{"bound", remark, &ParallelRow::bound}}});
}

/// "−12/+19 % of tokens/s (90 %)", of the row with the widest interval.
std::string widest_interval(const std::vector<ParallelRow>& rows) {
  const auto width = [](const ParallelRow& row) { return row.high / row.low; };
  const ParallelRow& widest = *std::ranges::max_element(rows, {}, width);
  const std::string where = rows.size() > 1 ? fmt::format(" at most, at {} GPUs", widest.gpus) : "";
  return fmt::format("−{}/+{} % of tokens/s (90 %{})",
                     significant(100 * (1 - widest.seconds / widest.high), 2),
                     significant(100 * (widest.seconds / widest.low - 1), 2), where);
}

Json plans_json(const std::vector<ParallelRow>& rows) {
  Json plans = list_of(fields_for_programs(), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) add_caveats(plans[i], rows[i]);
  return plans;
}

/// Adds a step of its pipeline to the plan that the page draws.
void add_pipeline(const std::vector<model::parallel_time::AnsweredPlan>& answered, Json& answer) {
  Json& plans = answer.at("plans");
  const auto best = static_cast<std::size_t>(&best_plan(plans) - &plans.at(0));
  if (answered.at(best).asked.stages == 1) return;
  plans.at(best)["pipeline"] = pipeline_json(timeline_of(answered[best]));
}

}  // namespace

Document parallel_document(const ComparedPlans& plans, const ParallelWords& words) {
  const std::vector<ParallelRow> rows = parallel_rows(plans);
  Table answers = table_of(answer_fields(rows), rows);
  answers.title = parallel_title(rows);
  Table parts = table_of(part_fields(rows), rows);
  parts.notes = plan_lines(rows);
  parts.notes.insert(parts.notes.end(), words.notes.begin(), words.notes.end());
  parts.notes.push_back(fmt::format("Rests on {}: {}.", words.rests_on, widest_interval(rows)));
  parts.notes.push_back(words.more);
  Document document;
  document.tables = {std::move(answers), std::move(parts)};
  document.records = records_of(fields_for_programs(), rows);
  document.json = json_answer(
      "dlscale.parallel_prediction",
      [rows, notes = plans.notes] {
        Json remarks = Json::array();
        for (const std::string& note : notes) remarks.push_back(note);
        return Json{{"plans", plans_json(rows)}, {"notes", remarks}};
      },
      1, [answered = plans.rows](Json& answer) { add_pipeline(answered, answer); });
  return document;
}

}  // namespace dlscale::report
