#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/comparison/ranking.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/results/axes.hpp"
#include "report/table/field_table.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

std::optional<double> ratio_to_first(const SideBySide::Row& row, std::size_t column) {
  if (!row.times.front() || !row.times[column]) return std::nullopt;
  return row.times[column]->time / row.times.front()->time;
}

Table times_table(const SideBySide& all) {
  Table table;
  table.title = "Side by side: time of a mini-batch or of one run, and its ratio to the first";
  table.columns = {{"measurement", Align::left}};
  for (std::size_t i = 0; i < all.columns.size(); ++i) {
    table.columns.push_back({all.columns[i] + (all.predicted[i] ? " (predicted)" : "")});
    if (i > 0) table.columns.push_back({"÷ first"});
  }
  for (const SideBySide::Row& row : all.rows) {
    std::vector<Cell> cells{{row.question}};
    for (std::size_t i = 0; i < row.times.size(); ++i) {
      const std::optional<double> ratio = ratio_to_first(row, i);
      cells.push_back({row.times[i] ? to_text(row.times[i]->time) : ""});
      if (i > 0) cells.push_back({ratio ? significant(*ratio, 3) : ""});
    }
    table.rows.push_back(std::move(cells));
  }
  table.most_shown = most_on_terminal;
  table.notes = {
      "measured times are medians over repeats of medians over samples; a ratio above 1 is slower"};
  if (all.alone > 0) {
    table.notes.push_back(fmt::format(
        "{} measurement{} in one column only, and on the page of that column's folder alone",
        grouped(static_cast<long long>(all.alone)), all.alone == 1 ? " is" : "s are"));
  }
  return table;
}

std::string asked_of(const Timing& timing, const char* axis) {
  return axis_or_empty(timing.question, axis);
}

/// Images or sequences a second of all ranks; absent for kernels.
std::optional<double> samples_per_s(const Timing& timing) {
  const std::string batch = asked_of(timing, "batch");
  const std::string ranks = asked_of(timing, "ranks");
  if (timing.benchmark != "e2e" || !is_number(batch) || !is_number(ranks)) return {};
  return std::stod(batch) * std::stod(ranks) / timing.time.time.si();
}

/// "18.2 to 18.9"; "–" without an interval.
std::string interval_of(const Timing& timing) {
  const ComparedTime& time = timing.time;
  if (!time.low || !time.high) return "–";
  return from_to(milliseconds(*time.low), milliseconds(*time.high));
}

/// Fields of a time; those with a heading are the table of trainings.
Fields<Timing> timing_fields() {
  using enum Meaning;
  const auto axis = [](const char* name) {
    return [name](const Timing& timing) { return asked_of(timing, name); };
  };
  return {
      {"network", key, axis("network"), "network", as::words},
      {"ranks", key, axis("ranks"), "ranks", as::exact},
      {"batch", key, axis("batch"), "batch", as::exact},
      {"dtype", key, axis("dtype"), "data type", as::words},
      {"place", value, &Timing::place},
      {"device", key, &Timing::device, "device", as::words},
      {"software", key, &Timing::software, "backend or framework", as::words},
      {"column", key, &Timing::column, "column", as::words},
      {"basis", key, &Timing::basis, "basis", as::words},
      {"time_s", value, via(&Timing::time, &ComparedTime::time), "iteration ms", as::milliseconds},
      {"time_low_s", value, via(&Timing::time, &ComparedTime::low)},
      {"time_high_s", value, via(&Timing::time, &ComparedTime::high)},
      Field<Timing>::table("interval ms", interval_of),
      {"samples_per_s", value, samples_per_s, "samples/s", as::significant<4>},
      {"ratio_to_fastest", value, &Timing::of_fastest, "÷ fastest", as::significant<3>},
      {"measurement", key, &Timing::measurement}};
}

/// Lets a narrow terminal leave out the columns that say the same in all rows, since a note does.
void spare_constants(Table& table) {
  std::vector<std::string> said;
  for (std::size_t i = 0; i < table.columns.size() && table.rows.size() > 1; ++i) {
    const std::string& first = table.rows.front()[i].text;
    const auto is_same = [&](const std::vector<Cell>& row) { return row[i].text == first; };
    if (!std::ranges::all_of(table.rows, is_same)) continue;
    table.columns[i].spare = 1;
    said.push_back(fmt::format("{} {}", table.columns[i].heading, first));
  }
  if (!said.empty()) table.notes.push_back(fmt::format("all rows: {}", fmt::join(said, ", ")));
}

Table trainings_table(const SideBySide& all) {
  std::vector<Timing> trainings;
  std::ranges::copy_if(all.timings, std::back_inserter(trainings),
                       [](const Timing& timing) { return timing.benchmark == "e2e"; });
  Table table = table_of(filled(for_people(timing_fields()), trainings), trainings);
  table.title = "Trainings, the fastest of each network, batch and number of ranks first";
  table.most_shown = most_on_terminal;
  table.notes = {
      "intervals: 95 % of the median of measured times, 90 % of predicted ones; two that overlap "
      "may differ all the same"};
  spare_constants(table);
  return table;
}

Json side_by_side_object(const SideBySide& all) {
  using Row = SideBySide::Row;
  const auto times = [](const Row& row) {
    std::vector<std::optional<Seconds>> seconds;
    for (const auto& each : row.times) {
      seconds.push_back(each ? std::optional(each->time) : std::nullopt);
    }
    return seconds;
  };
  const Fields<Row> fields{{"measurement", Meaning::key, &Row::question},
                           Field<Row>::json("times_s", times)};
  return {{"columns", all.columns},
          {"rows", list_of(fields, all.rows)},
          {"timings", list_of(timing_fields(), all.timings)},
          {"alone", all.alone},
          {"environments_differ", all.differences}};
}

}  // namespace
std::vector<Table> side_by_side_tables(const SideBySide& all) {
  std::vector<Table> tables;
  if (Table trainings = trainings_table(all); !trainings.rows.empty()) {
    tables.push_back(std::move(trainings));
  }
  if (!all.rows.empty()) tables.push_back(times_table(all));
  if (!all.differences.empty()) {
    tables.push_back({"What differs in where it was measured", {}, {}, all.differences});
  }
  return tables;
}

Document side_by_side_document(const SideBySide& all) {
  Document document;
  document.lead =
      all.rows.empty()
          ? fmt::format(
                "Nothing stands side by side: none of {} was made in two of these places "
                "or ways, at the same network, batch, data type and ranks, or at the same "
                "axes",
                counted(static_cast<long long>(all.alone), "measurement"))
          : ranking_verdict(ranking_of(all));
  document.tables = side_by_side_tables(all);
  document.records = records_of(timing_fields(), all.timings);
  document.json = json_answer("dlscale.side_by_side", [all] { return side_by_side_object(all); });
  return document;
}

}  // namespace dlscale::report
