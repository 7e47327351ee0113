#include "report/training_time_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "report/json/fields.hpp"
#include "report/numbers.hpp"
#include "report/prediction_table.hpp"
#include "report/record_columns.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {
namespace {

using model::Prediction;

struct Training {
  const Prediction* prediction;
  double batch;  ///< global
  double epochs;
  bool covered;  ///< whether the epochs are by batches like it
  Seconds time;
  std::optional<Seconds> low;
  std::optional<Seconds> high;
};

Training training_of(const Prediction& prediction, const TrainingGoal& goal) {
  EXPECT(goal.epochs.has_value() != goal.target.has_value());
  const Run& run = prediction.run;
  const double batch = static_cast<double>(run.ranks) * run.batch;
  const double epochs = goal.epochs ? *goal.epochs : model::epochs_to_target(*goal.target, batch);
  const auto at = [&](Seconds iteration) {
    return model::time_to_train({epochs, goal.samples, batch / iteration.si(), goal.evaluation,
                                 goal.evaluations_per_epoch, goal.start});
  };
  Training training{&prediction, batch, epochs, true, at(prediction.time.total), {}, {}};
  if (goal.target) training.covered = model::covers(*goal.target, batch);
  if (prediction.low && *prediction.low > Seconds()) training.low = at(*prediction.low);
  if (prediction.high) training.high = at(*prediction.high);
  return training;
}

std::string hours(Seconds time) {
  return significant(time.si() / 3600, 4);
}

std::string interval(const Training& training) {
  if (!training.low || !training.high) return "–";
  return fmt::format("{} – {}", hours(*training.low), hours(*training.high));
}

std::vector<std::string> notes_of(std::span<const Training> trainings, const TrainingGoal& goal) {
  std::vector<std::string> notes;
  if (goal.target) {
    notes.push_back(fmt::format("epochs to {}: {:.4g} (1 + B / {:.4g}) for a global batch of B",
                                goal.target_name, goal.target->least_epochs,
                                goal.target->critical_batch));
    const bool all_covered = std::ranges::all_of(trainings, &Training::covered);
    if (!all_covered) {
      notes.push_back(fmt::format(
          "extrapolated: a global batch outside {:.0f} to {:.0f}, by which the epochs were fitted",
          goal.target->smallest_batch, goal.target->largest_batch));
    }
  } else {
    notes.emplace_back("epochs as stated, whatever the batch: whether it converges is not told");
  }
  notes.push_back(fmt::format(
      "{:.0f} images an epoch, {:g} evaluations of {:g} s an epoch, {:g} s before the first "
      "iteration",
      goal.samples, goal.evaluations_per_epoch, goal.evaluation.si(), goal.start.si()));
  for (const Training& training : trainings) {
    for (const model::Note& note : training.prediction->notes) {
      const std::string text = note.text();
      if (std::ranges::find(notes, text) == notes.end()) notes.push_back(text);
    }
  }
  return notes;
}

/// Of one batch per rank, or of one global batch.
std::string title_of(std::span<const Training> trainings) {
  const Run& run = trainings.front().prediction->run;
  const auto as_first = [&](const Training& training) {
    return training.prediction->run.batch == run.batch;
  };
  if (std::ranges::all_of(trainings, as_first)) return run_title(run);
  return fmt::format("{} on {}, {:.0f} images on all ranks, {}, {}", run.network, run.cluster,
                     trainings.front().batch, dtype_name(run.dtype), schedule_text(run));
}

Table table_of(std::span<const Training> trainings, const TrainingGoal& goal, Seconds least) {
  Table table;
  table.title = "Time to train: " + title_of(trainings);
  table.columns = {{"ranks"},    {"global batch"}, {"epochs"},
                   {"images/s"}, {"hours"},        {"90 % interval"}};
  for (const Training& training : trainings) {
    const bool best = training.time == least;
    table.rows.push_back({{std::to_string(training.prediction->run.ranks)},
                          {fmt::format("{:.0f}", training.batch)},
                          {significant(training.epochs, 4) + (training.covered ? "" : " *")},
                          {significant(training.prediction->images_per_s, 4)},
                          {hours(training.time), best ? Tone::good : Tone::plain},
                          {interval(training)}});
  }
  table.notes = notes_of(trainings, goal);
  return table;
}

Table records(std::span<const Training> trainings) {
  Table table;
  add_columns(table.columns, Meaning::key,
              {"network", "cluster", "ranks", "batch", "global_batch"});
  add_columns(table.columns, Meaning::value, {"epochs"});
  add_columns(table.columns, Meaning::remark, {"epochs_covered"});
  add_columns(table.columns, Meaning::value,
              {"images_per_s", "training_s", "training_low_s", "training_high_s"});
  const auto optional = [](const std::optional<Seconds>& time) {
    return Cell{time ? exact(time->si()) : ""};
  };
  for (const Training& training : trainings) {
    const Run& run = training.prediction->run;
    table.rows.push_back({{run.network},
                          {run.cluster},
                          {std::to_string(run.ranks)},
                          {std::to_string(run.batch)},
                          {exact(training.batch)},
                          {exact(training.epochs)},
                          {training.covered ? "true" : "false"},
                          {exact(training.prediction->images_per_s)},
                          {exact(training.time.si())},
                          optional(training.low),
                          optional(training.high)});
  }
  return table;
}

std::string json_of(std::span<const Training> trainings, const TrainingGoal& goal) {
  Json json{{"schema", "dlscale.training_time"},
            {"version", 1},
            {"target", goal.target ? Json(goal.target_name) : Json(nullptr)},
            {"samples_per_epoch", number(goal.samples)},
            {"trainings", Json::array()}};
  for (const Training& training : trainings) {
    json["trainings"].push_back({{"prediction", prediction_fields(*training.prediction)},
                                 {"global_batch", number(training.batch)},
                                 {"epochs", number(training.epochs)},
                                 {"epochs_covered", training.covered},
                                 {"training_s", number(training.time)},
                                 {"training_low_s", optional_number(training.low)},
                                 {"training_high_s", optional_number(training.high)}});
  }
  return dump(json);
}

}  // namespace

Document training_time_document(std::span<const Prediction> predictions, const TrainingGoal& goal) {
  EXPECT(!predictions.empty());
  std::vector<Training> trainings;
  for (const Prediction& prediction : predictions) {
    trainings.push_back(training_of(prediction, goal));
  }
  const Training& best = *std::ranges::min_element(trainings, {}, &Training::time);
  Document document;
  document.lead = fmt::format("Least: {} hours on {}.", hours(best.time),
                              counted(best.prediction->run.ranks, "rank"));
  document.tables = {table_of(trainings, goal, best.time)};
  document.records = records(trainings);
  document.json = json_of(trainings, goal);
  return document;
}

}  // namespace dlscale::report
