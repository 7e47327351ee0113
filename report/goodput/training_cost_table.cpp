#include "report/goodput/training_cost_table.hpp"

#include <fmt/format.h>

#include <string>
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

std::string lead_of(std::span<const TrainingCost> trainings) {
  const TrainingCost& first = trainings.front();
  return fmt::format("{} for {} {} on {}, {} of it useful.", training_time_text(first.time_s.value),
                     amount_text(first.question.samples), first.question.samples_are,
                     counted(first.question.devices, "device"), percent(first.goodput.value));
}

}  // namespace

Document training_cost_document(std::span<const TrainingCost> trainings) {
  EXPECT(!trainings.empty());
  const Fields<TrainingCost> fields =
      joined<TrainingCost>({question_fields(trainings), training_cost_fields(trainings)});
  Document document;
  document.lead = lead_of(trainings);
  Table table = table_of(fields, trainings);
  table.title = "Cost of the whole training";
  if (trainings.size() == 1) table.title = trainings.front().question.title;
  table.notes = training_cost_notes(trainings);
  if (trainings.size() > 1) {
    for (const TrainingCost& one : trainings) {
      table.notes.push_back(
          fmt::format("{} devices: {}", one.question.devices, one.question.title));
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
