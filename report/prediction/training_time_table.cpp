#include "report/prediction/training_time_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "report/goodput/training_cost_fields.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/note_text.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

using model::Prediction;

struct Training {
  Prediction prediction;
  double batch;                  ///< global
  std::optional<double> epochs;  ///< absent where tokens are stated
  bool covered;                  ///< whether the epochs come from similar batches
  Seconds time;
  std::optional<Seconds> low;
  std::optional<Seconds> high;
  std::optional<model::goodput::TrainingCost> cost = {};
};

double global_batch(const Prediction& prediction) {
  return static_cast<double>(prediction.run.ranks) * prediction.run.batch;
}

Training training_of(const Prediction& prediction, const TrainingGoal& goal) {
  const double batch = global_batch(prediction);
  const TrainingLength length = length_of(prediction, goal);
  const auto at = [&](Seconds iteration) {
    return model::time_to_train({length.epochs, length.samples, batch / iteration.si(),
                                 goal.evaluation, goal.evaluations_per_epoch, goal.start});
  };
  Training training{prediction, batch, length.epochs, true, at(prediction.time.total), {}, {}};
  if (goal.tokens) training.epochs.reset();
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
  return from_to(hours(*training.low), hours(*training.high));
}

std::string length_note(const Prediction& prediction, const TrainingGoal& goal) {
  if (goal.tokens) {
    return fmt::format("{:.4g} tokens, {} a sequence; {:g} s before the first iteration",
                       *goal.tokens, prediction.tokens, goal.start.si());
  }
  return fmt::format(
      "{:.0f} {} an epoch, {:g} evaluations of {:g} s an epoch, {:g} s before the first "
      "iteration",
      goal.samples, samples_of(prediction), goal.evaluations_per_epoch, goal.evaluation.si(),
      goal.start.si());
}

std::vector<std::string> training_notes(std::span<const Training> trainings,
                                        const TrainingGoal& goal) {
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
  } else if (!goal.tokens) {
    notes.emplace_back("epochs as stated, whatever the batch: whether it converges is not told");
  }
  notes.push_back(length_note(trainings.front().prediction, goal));
  for (const Training& training : trainings) {
    for (const model::Note& note : training.prediction.notes) {
      const std::string text = note_text(note);
      if (std::ranges::find(notes, text) == notes.end()) notes.push_back(text);
    }
  }
  return notes;
}

/// The title, by batch per rank or by global batch.
std::string training_title(std::span<const Training> trainings) {
  const Run& run = trainings.front().prediction.run;
  const auto as_first = [&](const Training& training) {
    return training.prediction.run.batch == run.batch;
  };
  const std::string_view samples = samples_of(trainings.front().prediction);
  if (std::ranges::all_of(trainings, as_first)) return run_title(run, samples);
  return fmt::format("{} on {}, {:.0f} {} on all ranks, {}, {}", run.network, run.cluster,
                     trainings.front().batch, samples, dtype_name(run.dtype), schedule_text(run));
}

std::string epochs_text(const Training& training) {
  if (!training.epochs) return "–";
  return significant(*training.epochs, 4) + (training.covered ? "" : " *");
}

/// The costs of rows that have them, for programs.
Fields<Training> cost_fields(std::span<const Training> trainings) {
  if (!trainings.front().cost) return {};
  const auto cost = [](const Training& row) -> const model::goodput::TrainingCost& {
    return *row.cost;
  };
  const auto fields = for_programs(training_cost_fields({}));
  return joined<Training>({in_records(part_of<Training>(fields, cost)),
                           {Field<Training>::json("cost", [fields](const Training& row) {
                             return object_of(fields, *row.cost);
                           })}});
}

/// A row of `trainings` in all forms; that which takes `least` is marked.
Fields<Training> training_time_fields(std::span<const Training> trainings, Seconds least) {
  using F = Field<Training>;
  using enum Meaning;
  const auto run = [](const Training& row) -> const Run& { return row.prediction.run; };
  const auto hours_cell = [least](const Training& row) {
    return Cell{hours(row.time), row.time == least ? Tone::good : Tone::plain};
  };
  const auto rate = via(&Training::prediction, &Prediction::images_per_s);
  return joined<Training>({
      in_records(
          part_of<Training>(picked(run_fields(), {"network", "cluster", "ranks", "batch"}), run)),
      {F::json("prediction", [all = prediction_fields()](
                                 const Training& row) { return object_of(all, row.prediction); }),
       F::table("ranks", via(&Training::prediction, &Prediction::run, &Run::ranks), as::exact),
       {"global_batch", key, &Training::batch, "global batch", as::whole},
       {"epochs", value, &Training::epochs, "epochs", epochs_text},
       {"epochs_covered", remark, &Training::covered},
       F::record("images_per_s", value, rate),
       F::table(fmt::format("{}/s", samples_of(trainings.front().prediction)),
                via(&Training::prediction, &Prediction::images_per_s, rate_text)),
       {"training_s", value, &Training::time, "hours", hours_cell},
       {"training_low_s", value, &Training::low},
       {"training_high_s", value, &Training::high},
       F::table("90 % interval", interval)},
      cost_fields(trainings),
  });
}

Table trainings_table(std::span<const Training> trainings, const TrainingGoal& goal,
                      Seconds least) {
  Table table = table_of(training_time_fields(trainings, least), trainings);
  table.title = "Time to train: " + training_title(trainings);
  table.notes = training_notes(trainings, goal);
  return table;
}

/// Costs beside the numbers of ranks.
Table costs_table(std::span<const Training> trainings,
                  std::span<const model::goodput::TrainingCost> costs) {
  const auto cost = [](const Training& row) -> const model::goodput::TrainingCost& {
    return *row.cost;
  };
  const Fields<Training> fields = joined<Training>(
      {{Field<Training>::table("ranks", via(&Training::prediction, &Prediction::run, &Run::ranks),
                               as::exact)},
       part_of<Training>(for_people(training_cost_fields(costs)), cost)});
  Table table = table_of(fields, trainings);
  table.title = "With failures, checkpoints and energy";
  table.notes = training_cost_notes(costs);
  return table;
}

}  // namespace

TrainingLength length_of(const Prediction& prediction, const TrainingGoal& goal) {
  EXPECT(goal.epochs.has_value() + goal.target.has_value() + goal.tokens.has_value() == 1);
  if (goal.tokens) {
    if (prediction.tokens <= 0) {
      throw ConfigError(fmt::format(
          "a number of tokens is stated, and {} trains on images. State the number of epochs.",
          prediction.run.network));
    }
    return {1, *goal.tokens / prediction.tokens,
            goal.evaluations_per_epoch * goal.evaluation + goal.start};
  }
  const double epochs =
      goal.epochs ? *goal.epochs : model::epochs_to_target(*goal.target, global_batch(prediction));
  return {epochs, goal.samples, epochs * goal.evaluations_per_epoch * goal.evaluation + goal.start};
}

Document training_time_document(std::span<const Prediction> predictions, const TrainingGoal& goal,
                                std::span<const model::goodput::TrainingCost> costs) {
  EXPECT(!predictions.empty() && (costs.empty() || costs.size() == predictions.size()));
  std::vector<Training> trainings;
  for (const Prediction& prediction : predictions) {
    trainings.push_back(training_of(prediction, goal));
    if (!costs.empty()) trainings.back().cost = costs[trainings.size() - 1];
  }
  const auto whole = [](const Training& one) {
    return one.cost ? one.cost->time_s.value : one.time.si();
  };
  const Training& best = *std::ranges::min_element(trainings, {}, whole);
  Document document;
  document.tables = {trainings_table(trainings, goal, best.time)};
  if (!costs.empty()) document.tables.push_back(costs_table(trainings, costs));
  document.records = records_of(training_time_fields(trainings, best.time), trainings);
  document.json = json_answer(
      "dlscale.training_time",
      [trainings, goal, least = best.time] {
        return Json{{"target", goal.target ? Json(goal.target_name) : Json(nullptr)},
                    {"tokens", goal.tokens ? Json(*goal.tokens) : Json(nullptr)},
                    {"samples_per_epoch", number(goal.samples)},
                    {"trainings", list_of(training_time_fields(trainings, least), trainings)}};
      },
      notes_with_kinds);
  return document;
}

}  // namespace dlscale::report
