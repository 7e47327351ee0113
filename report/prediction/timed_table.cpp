#include "report/prediction/timed_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/schedule_text.hpp"

namespace dlscale::report {
namespace {

using model::Prediction;

/// The schedule, with the requested bucket size.
std::string how(const Run& run, const std::optional<Bytes>& bucket) {
  std::string text = schedule_text(run);
  if (bucket && run.schedule == Schedule::bucketed) text += fmt::format(" ({})", to_text(*bucket));
  return text;
}

std::vector<std::string> lines_of(std::span<const Prediction> rows) {
  model::Notes notes;
  for (const Prediction& row : rows) {
    for (const model::Note& note : row.notes) {
      if (note.examples.empty()) notes.add(note.what);
      for (const std::string& example : note.examples) notes.add(note.what, example);
    }
  }
  std::vector<std::string> lines;
  for (const model::Note& note : notes.all()) {
    lines.push_back(note.examples.empty()
                        ? note.what
                        : fmt::format("{}: {}", note.what, fmt::join(note.examples, "; ")));
  }
  return lines;
}

/// A row in all forms. Fields without effect on a row are null.
Fields<Prediction> timed_fields(const TimedPredictions& predictions) {
  using F = Field<Prediction>;
  using enum Meaning;
  const std::string messages = predictions.messages;
  const std::optional<Bytes> bucket = predictions.bucket;
  const auto bucket_of = [bucket](const Prediction& row) {
    return row.run.schedule == Schedule::bucketed ? bucket : std::nullopt;
  };
  const auto of_horovod = [](auto ScheduleSettings::*which) {
    return [which](const Prediction& row) {
      const bool packs = row.run.schedule == Schedule::horovod;
      return packs ? std::optional(row.run.settings.*which) : std::nullopt;
    };
  };
  const auto of_run = [](std::initializer_list<std::string_view> keys) {
    return part_of<Prediction>(picked(run_fields(), keys), &Prediction::run);
  };
  return joined<Prediction>({
      {F::table("ranks", via(&Prediction::run, &Run::ranks), as::exact),
       F::table(
           "schedule", [bucket](const Prediction& row) { return how(row.run, bucket); },
           as::words)},
      in_records(of_run({"network"})),
      {F::record("messages", key, [messages](const Prediction&) { return messages; })},
      of_run({"ranks", "batch", "schedule"}),
      {{"bucket_bytes", key, bucket_of},
       {"cycle_s", key, of_horovod(&ScheduleSettings::cycle)},
       {"fusion_threshold_bytes", key, of_horovod(&ScheduleSettings::fusion_threshold)}},
      of_run({"input_copy"}),
      without(iteration_fields(), {"t_load_s", "contention"}),
  });
}

Table timed_table(const TimedPredictions& predictions) {
  Table table = table_of(timed_fields(predictions), predictions.rows);
  const Run& first = predictions.rows.front().run;
  table.title = fmt::format("{} as timed on one worker, {} per rank, messages of {}", first.network,
                            counted(first.batch, "image"), predictions.messages);
  table.notes = lines_of(predictions.rows);
  table.notes.emplace_back(
      "comm is what the backward pass does not hide; speed-up is over 1 rank with the same layers");
  return table;
}

JsonText json_of(const TimedPredictions& predictions) {
  const std::vector<Prediction> rows(predictions.rows.begin(), predictions.rows.end());
  const Fields<Prediction> fields = timed_fields(predictions);
  return json_answer("dlscale.timed_prediction", [rows, fields, messages = predictions.messages] {
    return Json{{"network", rows.front().run.network},
                {"messages", messages},
                {"rows", list_of(fields, rows)}};
  });
}

}  // namespace

Document timed_document(const TimedPredictions& predictions) {
  EXPECT(!predictions.rows.empty());
  return {"",
          {timed_table(predictions)},
          records_of(timed_fields(predictions), predictions.rows),
          json_of(predictions)};
}

}  // namespace dlscale::report
