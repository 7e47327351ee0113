#include "report/stages/stages_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::StagedParts;
using model::StagedTraining;
using RowField = Field<StagedRow>;

Fields<StagedRow> place_of_row(const std::vector<StagedRow>& rows) {
  Fields<StagedRow> fields;
  if (!rows.front().label.empty()) {
    fields.push_back(RowField::table(
        "plan", [](const StagedRow& row) { return row.label; }, Align::left));
  }
  fields.push_back(RowField::table(rows.front().answers->workers,
                                   via(&StagedRow::answer, &StagedAnswer::ranks), as::exact));
  return fields;
}

std::string step_with_interval(const StagedRow& row) {
  const auto ms = [](Seconds time) { return 1e3 * time.si(); };
  const StagedTraining& training = row.training();
  return speedup_text(ms(training.total), ms(training.low()), ms(training.high()));
}

Cell verdict_cell(const StagedRow& row) {
  if (row.training().device_memory <= Bytes()) return {staged_fits_word(row.training())};
  return fits_cell(staged_fit_question(row.training()));
}

Fields<StagedRow> answer_of_row(const std::vector<StagedRow>& rows) {
  const Bytes device = rows.front().training().device_memory;
  const Fields<StagedRow> bound{RowField::table(
      "bound by", [](const StagedRow& row) { return std::string(row.training().bound()); },
      Align::left)};
  return joined<StagedRow>(
      {place_of_row(rows),
       {RowField::table(
            rows.front().answers->samples + "/s",
            [](const StagedRow& row) { return rate_text(row.training().images_per_s); }),
        RowField::table("step ms", step_with_interval),
        RowField::table("speed-up",
                        [](const StagedRow& row) {
                          if (!row.knows_speedup()) return std::string("–");
                          const StagedTraining& training = row.training();
                          return speedup_text(training.speedup, training.speedup_low(),
                                              training.speedup_high());
                        }),
        RowField::table(device > Bytes() ? fmt::format("GB of {}", in_gb(device.si())) : "GB",
                        [](const StagedRow& row) {
                          return need_text(staged_fit_question(row.training()).need);
                        }),
        RowField::table("fits", verdict_cell, Align::left)},
       spared(1, bound)});
}

/// A part of the step in ms; "–" where it rounds to nothing.
RowField part_of_step(const char* heading, Seconds StagedParts::*part) {
  return RowField::table(heading, [part](const StagedRow& row) {
    constexpr double too_little = 5e-4;
    const Seconds time = row.training().parts.*part;
    return time > too_little * row.training().total ? milliseconds(time) : "–";
  });
}

Fields<StagedRow> parts_of_row(const std::vector<StagedRow>& rows) {
  Fields<StagedRow> fields = place_of_row(rows);
  RowField step = RowField::table(
      "step ms", [](const StagedRow& row) { return milliseconds(row.training().total); });
  step.spare = 1;
  fields.push_back(std::move(step));
  fields.push_back(part_of_step("= computing", &StagedParts::computing));
  fields.push_back(part_of_step("+ unequal", &StagedParts::unequal));
  fields.push_back(part_of_step("+ bubble", &StagedParts::bubble));
  fields.push_back(part_of_step("+ messages", &StagedParts::messages));
  const bool has_strips = std::ranges::any_of(
      rows, [](const StagedRow& row) { return row.training().parts.strips > Seconds(); });
  if (has_strips) fields.push_back(part_of_step("+ strips", &StagedParts::strips));
  fields.push_back(part_of_step("+ gradients", &StagedParts::exchange));
  fields.push_back(part_of_step("+ input", &StagedParts::input));
  return fields;
}

/// The sources of the widest interval, and its ends as changes of the rate.
std::string rests_on(const std::vector<StagedRow>& rows) {
  const auto width = [](const StagedRow& row) {
    return row.training().high() / row.training().low();
  };
  const StagedRow& widest = *std::ranges::max_element(rows, {}, width);
  const StagedTraining& training = widest.training();
  if (!training.errors) return "Rests on the measured machine, without an interval.";
  const auto& measured = widest.answers->measured;
  const std::string points =
      measured.empty()
          ? ""
          : fmt::format(", moved by your point{} at {} {}", measured.size() == 1 ? "" : "s",
                        fmt::join(measured, " and "), widest.answers->workers);
  const std::string where =
      rows.size() == 1
          ? ""
          : fmt::format(" at most, at {} {}", widest.answer->ranks, widest.answers->workers);
  const bool has_strips =
      std::ranges::any_of(rows, [](const StagedRow& row) { return row.answer->plan.context > 1; });
  return fmt::format(
      "Rests on data sheets, {} trainings with data parallelism and {} with pipelines{}: −{}/+{} % "
      "of {}/s (90 %{}).{}",
      model::nominal_scaling_trainings(), model::published_pipelines, points,
      significant(100 * (1 - training.total / training.high()), 2),
      significant(100 * (training.total / training.low() - 1), 2), widest.answers->samples, where,
      has_strips ? " No published training decides the range of strips: that of pipelines is a "
                   "judgement."
                 : "");
}

Json stages_json(const StagedAnswers& answers, const std::vector<StagedRow>& rows) {
  Json notes = Json::array();
  for (const std::string& note : staged_notes(answers)) notes.push_back(note);
  return Json{
      {"plans",
       list_of(joined<StagedRow>({staged_question_fields(), staged_answer_fields()}), rows)},
      {"notes", notes}};
}

void add_records(const StagedAnswers& answers, const std::vector<StagedRow>& rows,
                 Document& document) {
  document.records =
      records_of(joined<StagedRow>({staged_question_fields(), staged_answer_fields()}), rows);
  document.json =
      json_answer("dlscale.stages", [json = stages_json(answers, rows)] { return json; });
}

}  // namespace

Document stages_document(const StagedAnswers& answers) {
  const std::vector<StagedRow> rows = staged_rows(answers);
  Table plans = table_of(answer_of_row(rows), rows);
  plans.title = staged_title(rows);
  Table parts = table_of(parts_of_row(rows), rows);
  parts.notes = plan_lines(rows);
  for (const std::string& note : staged_notes(answers)) parts.notes.push_back(note);
  parts.notes.push_back(rests_on(rows));
  parts.notes.push_back(answers.more);
  Document document;
  document.tables = {std::move(plans), std::move(parts)};
  add_records(answers, rows, document);
  return document;
}

Document stages_fit_document(const StagedAnswers& answers) {
  const std::vector<StagedRow> rows = staged_rows(answers);
  Table table;
  table.title = staged_title(rows);
  table.notes = plan_lines(rows);
  for (const StagedRow& row : rows) {
    table.notes.push_back(staged_place(row) + staged_fit_sentence(row));
  }
  for (const std::string& note : staged_notes(answers)) table.notes.push_back(note);
  Document document;
  document.tables = {std::move(table)};
  add_records(answers, rows, document);
  return document;
}

}  // namespace dlscale::report
