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

/// The length has the name of what it counts, "tokens". A plan "fits" if memory probably holds it.
Fields<TrainingCost> question_fields(std::span<const TrainingCost> trainings) {
  const auto question = &TrainingCost::question;
  return {
      {"training", Meaning::key, via(question, &CostQuestion::title)},
      {"devices", Meaning::key, via(question, &CostQuestion::devices), "devices", as::exact},
      {trainings.front().question.samples_are, Meaning::key, via(question, &CostQuestion::samples)},
      Field<TrainingCost>::json("fits", via(question, &CostQuestion::fits))};
}

bool has_labels(std::span<const TrainingCost> trainings) {
  return !trainings.front().question.label.empty();
}

Fields<TrainingCost> label_column(std::span<const TrainingCost> trainings) {
  if (!has_labels(trainings)) return {};
  return {Field<TrainingCost>::table(
      "plan", [](const TrainingCost& row) { return row.question.label; }, Align::left)};
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
