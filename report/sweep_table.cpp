#include "report/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "report/numbers.hpp"
#include "report/prediction_table.hpp"
#include "report/record_columns.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {
namespace {

using model::Prediction;

/// Differences of this size are rounding.
constexpr double rounding = 1e-12;
/// So many notes, and so much of what was left out, are told to people.
constexpr std::size_t most_told = 10;

std::vector<Prediction> predictions_of(const std::vector<SweepRow>& rows) {
  std::vector<Prediction> predictions;
  predictions.reserve(rows.size());
  for (const SweepRow& row : rows) predictions.push_back(row.prediction);
  return predictions;
}

bool has_links(const std::vector<SweepRow>& rows) {
  return std::ranges::any_of(rows, [](const SweepRow& row) { return row.link.has_value(); });
}

std::string mark_text(SweepMark mark) {
  switch (mark) {
    case SweepMark::none:
      return "";
    case SweepMark::of_its_ranks:
      return "of its ranks";
    case SweepMark::of_all:
      return "of all";
  }
  fail_expectation("mark is a SweepMark");
}

std::vector<Column> columns(bool links) {
  std::vector<Column> all{{"ranks"}, {"batch"}, {"schedule", Align::left}};
  if (links) {
    all.push_back({"between nodes"});
    all.push_back({"start-up"});
  }
  for (const char* heading :
       {"comm ms", "iteration ms", "90 % interval", "images/s", "speed-up", "efficiency"}) {
    all.push_back({heading});
  }
  all.push_back({"bound by", Align::left});
  all.push_back({"best", Align::left});
  return all;
}

std::vector<Cell> cells_of(const SweepRow& row, SweepMark mark, bool links) {
  const Prediction& prediction = row.prediction;
  std::vector<Cell> cells{{std::to_string(prediction.run.ranks)},
                          {std::to_string(prediction.run.batch)},
                          {schedule_text(prediction.run)}};
  if (links) {
    cells.push_back({row.link ? to_text(row.link->bandwidth) : "–"});
    cells.push_back({row.link ? to_text(row.link->latency) : "–"});
  }
  cells.push_back({milliseconds(prediction.time.exposed_comm)});
  cells.push_back({milliseconds(prediction.time.total)});
  cells.push_back({interval_text(prediction)});
  cells.push_back({significant(prediction.images_per_s, 4)});
  cells.push_back({significant(prediction.speedup, 3)});
  cells.push_back({percent(prediction.efficiency)});
  cells.push_back({prediction.bound});
  cells.push_back({mark_text(mark), mark == SweepMark::of_all ? Tone::good : Tone::plain});
  return cells;
}

/// Each once, with how many rows it concerns unless that is all.
std::vector<std::string> notes_of(const std::vector<SweepRow>& rows) {
  model::Notes notes;
  std::vector<std::size_t> counts;
  for (const SweepRow& row : rows) {
    for (const model::Note& note : row.prediction.notes) {
      const std::size_t place = notes.add(note);
      counts.resize(notes.all().size());
      ++counts[place];
    }
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string of =
        counts[i] == rows.size() ? "" : fmt::format("{} of {} rows: ", counts[i], rows.size());
    lines.push_back(of + notes.all()[i].text());
  }
  return lines;
}

/// The first lines, each after `word`, and how many more there are.
void add_lines(std::string_view word, const std::vector<std::string>& lines,
               std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < std::min(lines.size(), most_told); ++i) {
    notes.push_back(fmt::format("{}{}", word, lines[i]));
  }
  if (lines.size() <= most_told) return;
  notes.push_back(
      fmt::format("{}{} more (all of them with --format json)", word, lines.size() - most_told));
}

Table table_of(const Sweep& sweep, const std::vector<SweepMark>& marks) {
  const Run& run = sweep.rows.front().prediction.run;
  const bool links = has_links(sweep.rows);
  Table table;
  table.title = fmt::format("{} on {}, {}, {} per rank", run.network, run.cluster,
                            dtype_name(run.dtype), counted(run.loader_threads, "loader thread"));
  table.columns = columns(links);
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    table.rows.push_back(cells_of(sweep.rows[i], marks[i], links));
  }
  add_lines("", notes_of(sweep.rows), table.notes);
  add_lines("left out: ", sweep.left_out, table.notes);
  table.notes.push_back(
      "best: most images/s, of all rows or of those with as many ranks; comm is what the backward "
      "pass does not hide; speed-up is over " +
      sweep.speedup_over);
  return table;
}

Table records_of(const std::vector<SweepRow>& rows, const std::vector<SweepMark>& marks) {
  Table table = prediction_records(predictions_of(rows));
  add_columns(table.columns, Meaning::key,
              {"inter_node_bandwidth_bytes_per_s", "inter_node_latency_s"});
  add_columns(table.columns, Meaning::remark, {"best"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& link = rows[i].link;
    table.rows[i].push_back({link ? exact(link->bandwidth.si()) : ""});
    table.rows[i].push_back({link ? exact(link->latency.si()) : ""});
    table.rows[i].push_back({mark_text(marks[i])});
  }
  return table;
}

/// What makes rows comparable: ranks, bandwidth and latency.
auto group_of(const SweepRow& row) {
  const LinkSpec link = row.link.value_or(LinkSpec{});
  return std::tuple(row.prediction.run.ranks, link.bandwidth.si(), link.latency.si());
}

}  // namespace

std::vector<SweepMark> best_rows(const std::vector<SweepRow>& rows) {
  const auto is_better = [&](std::size_t one, std::size_t other) {
    return rows[one].prediction.images_per_s > rows[other].prediction.images_per_s * (1 + rounding);
  };
  std::size_t best = 0;
  std::map<decltype(group_of(rows.front())), std::size_t> best_of_group;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_better(i, best)) best = i;
    const auto [place, is_first] = best_of_group.try_emplace(group_of(rows[i]), i);
    if (!is_first && is_better(i, place->second)) place->second = i;
  }
  std::vector<SweepMark> marks(rows.size(), SweepMark::none);
  for (const auto& [group, row] : best_of_group) marks[row] = SweepMark::of_its_ranks;
  if (!rows.empty()) marks[best] = SweepMark::of_all;
  return marks;
}

Document sweep_document(const Sweep& sweep) {
  EXPECT(!sweep.rows.empty());
  const std::vector<SweepMark> marks = best_rows(sweep.rows);
  return {"", {table_of(sweep, marks)}, records_of(sweep.rows, marks), sweep_json(sweep, marks)};
}

}  // namespace dlscale::report
