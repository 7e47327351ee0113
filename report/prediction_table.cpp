#include "report/prediction_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/fuse.hpp"
#include "report/iteration_cells.hpp"
#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/phases.hpp"
#include "report/record_columns.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {
namespace {

using model::Prediction;

/// Numbers the notes of a table: notes that say the same get equal numbers, whatever their
/// examples.
class Footnotes {
 public:
  /// Those of a row.
  std::string mark(int ranks, const std::vector<model::Note>& notes) {
    std::vector<std::size_t> numbers;
    for (const model::Note& note : notes) {
      numbers.push_back(notes_.add(note));
      ranks_.resize(notes_.all().size());
      ranks_[numbers.back()].push_back(ranks);
      ++numbers.back();
    }
    std::ranges::sort(numbers);
    return fmt::format("{}", fmt::join(numbers, ","));
  }
  /// One for each note, with the ranks of its rows unless they are all `rows`.
  [[nodiscard]] std::vector<std::string> lines(std::size_t rows) const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const std::string of =
          ranks_[i].size() == rows ? "" : fmt::format("ranks {}: ", fmt::join(ranks_[i], ", "));
      lines.push_back(fmt::format("{}: {}{}", i + 1, of, notes_.all()[i].text()));
    }
    return lines;
  }

 private:
  model::Notes notes_;
  std::vector<std::vector<int>> ranks_;  ///< by note
};

double closed_form_difference(const Prediction& prediction) {
  const Seconds total = prediction.time.total;
  return std::abs((prediction.closed_form->total - total) / total);
}

/// What the closed form says, in at most one line for the rows where it applies and one for each
/// reason why it does not.
std::vector<std::string> closed_form_notes(std::span<const Prediction> predictions) {
  double largest = 0;
  std::vector<int> applies;
  std::map<std::string, std::vector<int>> absent;
  for (const Prediction& prediction : predictions) {
    if (prediction.closed_form) {
      applies.push_back(prediction.run.ranks);
      largest = std::max(largest, closed_form_difference(prediction));
    } else {
      absent[prediction.closed_form_absent].push_back(prediction.run.ranks);
    }
  }
  std::vector<std::string> notes;
  if (!applies.empty()) {
    notes.push_back(
        fmt::format("closed form (ranks {}): differs from the simulation by {:.1e} at most",
                    fmt::join(applies, ", "), largest));
  }
  for (const auto& [reason, ranks] : absent) {
    notes.push_back(fmt::format("no closed form (ranks {}): {}", fmt::join(ranks, ", "), reason));
  }
  return notes;
}

/// "forward measured, backward measured"; empty where nothing is known.
std::string basis_text(const model::PhaseSources& sources) {
  const std::pair<std::string_view, std::optional<model::TimeSource>> phases[] = {
      {"loading", sources.load},           {"copy", sources.h2d},
      {"forward", sources.forward},        {"backward", sources.backward},
      {"messages", sources.communication}, {"update", sources.update}};
  std::string text;
  for (const auto& [phase, source] : phases) {
    if (!source) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", phase, time_source_name(*source));
  }
  return text;
}

/// Where the times come from, a line for rows that have all of them alike.
std::vector<std::string> basis_notes(std::span<const Prediction> predictions) {
  std::vector<std::pair<std::string, std::vector<int>>> rows;
  for (const Prediction& prediction : predictions) {
    const std::string text = basis_text(prediction.sources);
    if (text.empty()) continue;
    auto known = std::ranges::find(rows, text, [](const auto& row) { return row.first; });
    if (known == rows.end()) known = rows.insert(rows.end(), {text, {}});
    known->second.push_back(prediction.run.ranks);
  }
  std::vector<std::string> notes;
  for (const auto& [text, ranks] : rows) {
    const std::string of = ranks.size() == predictions.size()
                               ? ""
                               : fmt::format(" (ranks {})", fmt::join(ranks, ", "));
    notes.push_back(fmt::format("times from{}: {}", of, text));
  }
  return notes;
}

std::vector<Column> columns() {
  std::vector<Column> all{{"ranks"}};
  add_phase_columns(all);
  all.push_back({"90 % interval"});
  add_gain_columns(all);
  all.push_back({"notes", Align::left});
  return all;
}

std::vector<Cell> row(const Prediction& prediction, Footnotes& footnotes) {
  std::vector<Cell> cells{{std::to_string(prediction.run.ranks)}};
  add_phase_cells(prediction.time, cells);
  cells.push_back({interval_text(prediction)});
  add_gain_cells(prediction, cells);
  cells.push_back({footnotes.mark(prediction.run.ranks, prediction.notes)});
  return cells;
}

Table table_of(std::span<const Prediction> predictions) {
  Table table;
  table.title = run_title(predictions.front().run);
  table.columns = columns();
  Footnotes footnotes;
  for (const Prediction& prediction : predictions) {
    table.rows.push_back(row(prediction, footnotes));
  }
  table.notes = footnotes.lines(table.rows.size());
  for (std::string& note : basis_notes(predictions)) table.notes.push_back(std::move(note));
  for (std::string& note : closed_form_notes(predictions)) table.notes.push_back(std::move(note));
  table.notes.emplace_back(
      "comm is what the backward pass does not hide; speed-up is over 1 rank with the same batch "
      "per rank");
  return table;
}

std::vector<Column> record_columns(const Run& run) {
  std::vector<Column> columns;
  add_columns(columns, Meaning::key,
              {"network", "cluster", "ranks", "ranks_per_node", "batch", "dtype", "schedule",
               "synchronisation"});
  for (const ScheduleField& field : schedule_fields(run)) {
    add_columns(columns, Meaning::key, {field.key});
  }
  add_columns(columns, Meaning::key,
              {"cores_per_rank", "compute_threads", "loader_threads", "prefetch", "input_copy",
               "normalise", "launch", "fuse"});
  add_phase_keys(columns);
  add_columns(
      columns, Meaning::value,
      {"t_iter_low_s", "t_iter_high_s", "t_comm_hidden_s", "t_load_s", "closed_form_t_iter_s"});
  add_gain_keys(columns);
  add_columns(columns, Meaning::remark,
              {"t_load_from", "t_h2d_from", "t_f_from", "t_b_from", "t_comm_from", "t_u_from"});
  return columns;
}

std::vector<Cell> record(const Prediction& prediction) {
  const Run& run = prediction.run;
  const model::IterationTime& time = prediction.time;
  std::vector<Cell> cells{{run.network}, {run.cluster}};
  const auto integer = [&cells](int value) { cells.push_back({std::to_string(value)}); };
  integer(run.ranks);
  integer(run.ranks_per_node);
  integer(run.batch);
  cells.push_back({std::string(dtype_name(run.dtype))});
  cells.push_back({std::string(schedule_name(run.schedule))});
  cells.push_back({std::string(synchronisation_name(run.synchronisation))});
  for (ScheduleField& field : schedule_fields(run)) cells.push_back({std::move(field.value)});
  for (const int count :
       {run.cores_per_rank, run.compute_threads, run.loader_threads, run.prefetch}) {
    integer(count);
  }
  cells.push_back({std::string(input_copy_name(run.input_copy))});
  cells.push_back({std::string(normalisation_name(run.normalisation))});
  cells.push_back({std::string(launch_name(run.launch))});
  cells.push_back({std::string(fusion_name(run))});
  add_phase_values(time, cells);
  for (const std::optional<Seconds>& value : {prediction.low, prediction.high}) {
    cells.push_back({value ? exact(value->si()) : ""});
  }
  for (const Seconds value : {time.hidden_comm, time.load}) cells.push_back({exact(value.si())});
  const auto& closed_form = prediction.closed_form;
  cells.push_back({closed_form ? exact(closed_form->total.si()) : ""});
  add_gain_values(prediction, cells);
  const model::PhaseSources& from = prediction.sources;
  for (const auto& source :
       {from.load, from.h2d, from.forward, from.backward, from.communication, from.update}) {
    cells.push_back({source ? std::string(time_source_name(*source)) : ""});
  }
  return cells;
}

}  // namespace

Table prediction_records(std::span<const Prediction> predictions) {
  EXPECT(!predictions.empty());
  Table table;
  table.columns = record_columns(predictions.front().run);
  for (const Prediction& prediction : predictions) table.rows.push_back(record(prediction));
  return table;
}

std::string interval_text(const Prediction& prediction) {
  if (!prediction.low || !prediction.high) return "–";
  return fmt::format("{} – {}", milliseconds(*prediction.low), milliseconds(*prediction.high));
}

std::string run_title(const Run& run) {
  return fmt::format(
      "{} on {}, {} and {} per rank, {}, {}{}{}{}{}", run.network, run.cluster,
      counted(run.batch, "image"), counted(run.loader_threads, "loader thread"),
      dtype_name(run.dtype), schedule_text(run),
      run.input_copy == InputCopy::ahead ? ", input copied ahead" : "",
      run.normalisation == Normalisation::device ? ", pictures normalised there" : "",
      run.launch == Launch::graph ? ", launched as graphs" : "",
      run.fuse_relu ? ", ReLUs fused" : "");
}

std::vector<Table> prediction_tables(std::span<const Prediction> predictions) {
  std::vector<Table> tables;
  while (!predictions.empty()) {
    const std::string title = run_title(predictions.front().run);
    std::size_t count = 1;
    while (count < predictions.size() && run_title(predictions[count].run) == title) ++count;
    tables.push_back(table_of(predictions.first(count)));
    predictions = predictions.subspan(count);
  }
  return tables;
}

Document prediction_document(std::span<const Prediction> predictions) {
  EXPECT(!predictions.empty());
  return {"", prediction_tables(predictions), prediction_records(predictions),
          prediction_json(predictions)};
}

}  // namespace dlscale::report
