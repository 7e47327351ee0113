#include "report/timed_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/run.hpp"
#include "model/sgd_iter/notes.hpp"
#include "report/iteration_cells.hpp"
#include "report/json/fields.hpp"
#include "report/numbers.hpp"
#include "report/prediction_table.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {
namespace {

using model::Prediction;

/// With the bucket that was asked for.
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

Table table_of(const TimedPredictions& predictions) {
  Table table;
  const Run& first = predictions.rows.front().run;
  table.title = fmt::format("{} as timed on one worker, {} per rank, messages of {}", first.network,
                            counted(first.batch, "image"), predictions.messages);
  table.columns = {{"ranks"}, {"schedule", Align::left}};
  add_phase_columns(table.columns);
  table.columns.push_back({"90 % interval"});
  add_gain_columns(table.columns);
  for (const Prediction& row : predictions.rows) {
    std::vector<Cell> cells{{std::to_string(row.run.ranks)}, {how(row.run, predictions.bucket)}};
    add_phase_cells(row.time, cells);
    cells.push_back({interval_text(row)});
    add_gain_cells(row, cells);
    table.rows.push_back(std::move(cells));
  }
  table.notes = lines_of(predictions.rows);
  table.notes.emplace_back(
      "comm is what the backward pass does not hide; speed-up is over 1 rank with the same layers");
  return table;
}

/// What has no effect is empty.
std::string number_if(bool is_used, double value) {
  return is_used ? exact(value) : "";
}

Table records_of(const TimedPredictions& predictions) {
  Table table;
  for (const char* key : {"network", "messages", "ranks", "batch", "schedule", "bucket_bytes",
                          "cycle_s", "fusion_threshold_bytes", "input_copy"}) {
    table.columns.push_back({key});
  }
  add_phase_keys(table.columns);
  for (const char* key : {"t_iter_low_s", "t_iter_high_s", "t_comm_hidden_s"}) {
    table.columns.push_back({key});
  }
  table.columns.push_back({"closed_form_t_iter_s"});
  add_gain_keys(table.columns);
  for (const Prediction& row : predictions.rows) {
    const Run& run = row.run;
    const bool packs = run.schedule == Schedule::horovod;
    const bool cut = predictions.bucket && run.schedule == Schedule::bucketed;
    const double bucket = predictions.bucket.value_or(Bytes()).si();
    std::vector<Cell> cells{{run.network},
                            {predictions.messages},
                            {std::to_string(run.ranks)},
                            {std::to_string(run.batch)},
                            {std::string(schedule_name(run.schedule))},
                            {number_if(cut, bucket)},
                            {number_if(packs, run.settings.cycle.si())},
                            {number_if(packs, run.settings.fusion_threshold.si())},
                            {std::string(input_copy_name(run.input_copy))}};
    add_phase_values(row.time, cells);
    for (const std::optional<Seconds>& end : {row.low, row.high}) {
      cells.push_back({end ? exact(end->si()) : ""});
    }
    cells.push_back({exact(row.time.hidden_comm.si())});
    cells.push_back({row.closed_form ? exact(row.closed_form->total.si()) : ""});
    add_gain_values(row, cells);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string json_of(const TimedPredictions& predictions) {
  Json json{{"schema", "dlscale.timed_prediction"},
            {"version", 1},
            {"network", predictions.rows.front().run.network},
            {"messages", predictions.messages},
            {"rows", Json::array()}};
  for (const Prediction& row : predictions.rows) {
    const Run& run = row.run;
    const bool packs = run.schedule == Schedule::horovod;
    const bool cut = predictions.bucket && run.schedule == Schedule::bucketed;
    Json fields{{"ranks", run.ranks},
                {"batch", run.batch},
                {"schedule", schedule_name(run.schedule)},
                {"bucket_bytes", cut ? number(predictions.bucket->si()) : Json(nullptr)},
                {"cycle_s", packs ? number(run.settings.cycle) : Json(nullptr)},
                {"fusion_threshold_bytes",
                 packs ? number(run.settings.fusion_threshold.si()) : Json(nullptr)},
                {"input_copy", input_copy_name(run.input_copy)},
                {"time", time_fields(row.time)},
                {"t_iter_low_s", optional_number(row.low)},
                {"t_iter_high_s", optional_number(row.high)},
                {"interval", row.low ? Json(model::prediction_interval) : Json(nullptr)},
                {"basis", basis_fields(row.sources)}};
    fields["closed_form"] = row.closed_form ? time_fields(*row.closed_form) : Json(nullptr);
    fields["closed_form_absent"] = row.closed_form_absent;
    fields["images_per_s"] = number(row.images_per_s);
    fields["speedup"] = number(row.speedup);
    fields["efficiency"] = number(row.efficiency);
    fields["bound"] = row.bound;
    fields["notes"] = Json::array();
    for (const model::Note& note : row.notes) fields["notes"].push_back(note.text());
    json["rows"].push_back(std::move(fields));
  }
  return dump(json);
}

}  // namespace

Document timed_document(const TimedPredictions& predictions) {
  EXPECT(!predictions.rows.empty());
  return {"", {table_of(predictions)}, records_of(predictions), json_of(predictions)};
}

}  // namespace dlscale::report
