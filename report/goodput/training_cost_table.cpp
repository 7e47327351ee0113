#include "report/goodput/training_cost_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/goodput/training_cost_fields.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::goodput::CostQuestion;
using model::goodput::TrainingCost;

/// The length has the name of what it counts, "tokens".
Fields<TrainingCost> question_fields(std::span<const TrainingCost> trainings) {
  const auto question = &TrainingCost::question;
  return {{"training", Meaning::key, via(question, &CostQuestion::title)},
          {"devices", Meaning::key, via(question, &CostQuestion::devices), "devices", as::exact},
          {trainings.front().question.samples_are, Meaning::key,
           via(question, &CostQuestion::samples)}};
}

bool has_labels(std::span<const TrainingCost> trainings) {
  return !trainings.front().question.label.empty();
}

Fields<TrainingCost> label_column(std::span<const TrainingCost> trainings) {
  if (!has_labels(trainings)) return {};
  return {Field<TrainingCost>::table(
      "plan", [](const TrainingCost& row) { return row.question.label; }, Align::left)};
}

/// The shortest training of several plans, of those that fit if some do. Else the first.
const TrainingCost& leading(std::span<const TrainingCost> trainings) {
  if (!has_labels(trainings)) return trainings.front();
  return *std::ranges::min_element(trainings, {}, [](const TrainingCost& row) {
    return std::pair(!row.question.fits, row.time_s.value);
  });
}

std::string lead_of(std::span<const TrainingCost> trainings) {
  const TrainingCost& best = leading(trainings);
  const CostQuestion& question = best.question;
  const std::string plan = question.label.empty() ? "" : " by plan " + question.label;
  return fmt::format(
      "{} for {} {} on {}{}, {} of it useful{}.", training_time_text(best.time_s.value),
      amount_text(question.samples), question.samples_are, counted(question.devices, "device"),
      plan, percent(best.goodput.value), question.fits ? "" : "; it may not fit the devices");
}

/// The training of a row, where there are several: "A on 64 devices: llama3_70b on dgx_h100 by …".
std::string line_of(const CostQuestion& question) {
  const std::string devices = counted(question.devices, "device");
  const std::string row =
      question.label.empty() ? devices : fmt::format("{} on {}", question.label, devices);
  return fmt::format("{}: {}", row, question.title);
}

}  // namespace

Document training_cost_document(std::span<const TrainingCost> trainings) {
  EXPECT(!trainings.empty());
  const Fields<TrainingCost> fields = joined<TrainingCost>(
      {label_column(trainings), question_fields(trainings), training_cost_fields(trainings)});
  Document document;
  document.lead = lead_of(trainings);
  Table table = table_of(fields, trainings);
  table.title = "Cost of the whole training";
  if (trainings.size() == 1) table.title = trainings.front().question.title;
  table.notes = training_cost_notes(trainings);
  if (trainings.size() > 1) {
    for (const TrainingCost& one : trainings) {
      table.notes.push_back(line_of(one.question));
    }
  }
  document.tables = {table};
  document.records = records_of(fields, trainings);
  document.json = json_answer(
      "dlscale.training_cost",
      [rows = std::vector(trainings.begin(), trainings.end()), fields, notes = table.notes] {
        return Json{{"trainings", list_of(fields, rows)}, {"notes", notes}};
      });
  return document;
}

Document training_cost_document(const TrainingCost& training) {
  return training_cost_document(std::span(&training, 1));
}

}  // namespace dlscale::report
