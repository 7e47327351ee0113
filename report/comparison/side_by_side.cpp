#include "report/comparison/side_by_side.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/comparison/ranking.hpp"
#include "report/results/axes.hpp"
#include "report/results/environment_rows.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

constexpr std::array<std::string_view, 4> training_question{"network", "batch", "dtype", "ranks"};
constexpr std::array<std::string_view, 2> kernel_settings{"backend", "repeat"};

/// A time without its row and column yet.
struct Entry {
  std::size_t source = 0;
  std::string benchmark;
  Axes question;
  Axes setting;
  double seconds = 0;
};

void split_axes(Entry& entry, const Axes& axes) {
  const bool training = entry.benchmark == "e2e";
  for (const auto& [name, value] : axes) {
    const bool asked = training ? std::ranges::count(training_question, name) > 0
                                : std::ranges::count(kernel_settings, name) == 0;
    if (asked) {
      entry.question[name] = value;
    } else if (name != "repeat") {
      entry.setting[name] = value;
    }
  }
}

void append_measured(std::vector<Entry>& entries, const ResultSource& source, std::size_t index) {
  for (const ResultFile& file : source.results) {
    for (const Measurement& row : file.measurements) {
      const bool counts = row.status == Status::ok || row.status == Status::unstable;
      const auto time = row.series.find(row.benchmark == "e2e" ? "t_iter" : "time");
      if (!counts || time == row.series.end() || time->second.unit != "s") continue;
      Entry entry{index, row.benchmark, {}, {}, time->second.summary.median};
      split_axes(entry, row.axes);
      if (entry.seconds > 0) entries.push_back(std::move(entry));
    }
  }
}

std::vector<Entry> entries_of(const std::vector<ResultSource>& sources) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    append_measured(entries, sources[i], i);
    for (const ResultSource::Predicted& each : sources[i].predicted) {
      Entry entry{i, "e2e", {}, {}, each.time.si()};
      split_axes(entry, each.axes);
      if (entry.seconds > 0) entries.push_back(std::move(entry));
    }
  }
  return entries;
}

/// Order of texts in which whole numbers stand by their value: ranks=2 before ranks=16.
struct ByNumbers {
  bool operator()(std::string_view a, std::string_view b) const {
    const std::string_view both =
        a.substr(0, static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin()));
    const std::size_t before = both.find_last_not_of(digits);
    const std::size_t from = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view here = number_at(a, from);
    const std::string_view there = number_at(b, from);
    if (here.empty() || there.empty() || here.size() == there.size()) return a < b;
    return here.size() < there.size();
  }

 private:
  static constexpr std::string_view digits = "0123456789";
  /// The digits from there on.
  static std::string_view number_at(std::string_view text, std::size_t from) {
    const std::string_view rest = text.substr(from);
    return rest.substr(0, rest.find_first_not_of(digits));
  }
};

/// Settings that distinguish entries: those with more than one known value.
std::set<std::string> telling_settings(const std::vector<Entry>& entries) {
  std::map<std::string, std::set<std::string>> values;
  for (const Entry& entry : entries) {
    for (const auto& [name, value] : entry.setting) values[name].insert(value);
  }
  std::set<std::string> names;
  for (const auto& [name, met] : values) {
    if (met.size() > 1) names.insert(name);
  }
  return names;
}

std::string column_name(const Entry& entry, const std::vector<ResultSource>& sources,
                        const std::set<std::string>& telling) {
  std::string name = sources[entry.source].name;
  for (const auto& [setting, value] : entry.setting) {
    if (!telling.contains(setting)) continue;
    const bool speaks_for_itself = setting == "backend" || setting == "schedule";
    name += " · ";
    if (!speaks_for_itself) name += setting + "=";
    name += value;
  }
  return name;
}

std::string question_name(const Entry& entry) {
  std::string name = entry.benchmark;
  for (const auto& [axis, value] : entry.question) {
    if (!value.empty()) name += " " + axis + "=" + value;
  }
  return name;
}

std::vector<std::string> environment_differences(const std::vector<ResultSource>& sources) {
  std::map<std::string, std::map<std::string, std::string>> rows;
  std::vector<std::string> order;
  std::size_t measured = 0;
  for (const ResultSource& source : sources) {
    if (source.results.empty()) continue;
    ++measured;
    for (const auto& [name, value] : joined_environment(source.results)) {
      if (!rows.contains(name)) order.push_back(name);
      rows[name][source.name] = value;
    }
  }
  std::vector<std::string> lines;
  for (const std::string& name : order) {
    std::set<std::string> values;
    for (const auto& [source, value] : rows[name]) values.insert(value);
    if (values.size() == 1 && rows[name].size() == measured) continue;
    std::string line = name + ":";
    for (const ResultSource& source : sources) {
      if (source.results.empty()) continue;
      const auto found = rows[name].find(source.name);
      const std::string value = found == rows[name].end() ? "not said" : found->second;
      line +=
          fmt::format("{} {}: {}", line.ends_with(':') && line.size() == name.size() + 1 ? "" : ";",
                      source.name, value);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<double> ratio_to_first(const SideBySide::Row& row, std::size_t column) {
  if (!row.times.front() || !row.times[column]) return std::nullopt;
  return *row.times[column] / *row.times.front();
}

Table times_table(const SideBySide& all) {
  Table table;
  table.title = "Side by side: time of a mini-batch or of one run, and its ratio to the first";
  table.columns = {{"measurement", Align::left}};
  for (std::size_t i = 0; i < all.columns.size(); ++i) {
    table.columns.push_back({all.columns[i]});
    if (i > 0) table.columns.push_back({"÷ first"});
  }
  for (const SideBySide::Row& row : all.rows) {
    std::vector<Cell> cells{{row.question}};
    for (std::size_t i = 0; i < row.times.size(); ++i) {
      const std::optional<double> ratio = ratio_to_first(row, i);
      cells.push_back({row.times[i] ? to_text(*row.times[i]) : ""});
      if (i > 0) cells.push_back({ratio ? significant(*ratio, 3) : ""});
    }
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "median over repeats of the median over samples; a ratio above 1 is slower (worse)"};
  if (all.alone > 0) {
    table.notes.push_back(fmt::format("{} stand in one column only and are left out",
                                      counted(static_cast<long long>(all.alone), "measurement")));
  }
  return table;
}

/// A time of the table.
struct TimeRow {
  std::string question;
  std::string column;
  std::optional<Seconds> time;
  std::optional<double> ratio;
};

Table side_by_side_records(const SideBySide& all) {
  using enum Meaning;
  std::vector<TimeRow> rows;
  for (const SideBySide::Row& row : all.rows) {
    for (std::size_t i = 0; i < row.times.size(); ++i) {
      if (!row.times[i]) continue;
      rows.push_back({row.question, all.columns[i], row.times[i], ratio_to_first(row, i)});
    }
  }
  return records_of(Fields<TimeRow>{{"measurement", key, &TimeRow::question},
                                    {"column", key, &TimeRow::column},
                                    {"time_s", value, &TimeRow::time},
                                    {"ratio_to_first", value, &TimeRow::ratio}},
                    rows);
}

Json side_by_side_object(const SideBySide& all) {
  using Row = SideBySide::Row;
  const Fields<Row> fields{{"measurement", Meaning::key, &Row::question},
                           Field<Row>::json("times_s", &Row::times)};
  return {{"columns", all.columns},
          {"rows", list_of(fields, all.rows)},
          {"alone", all.alone},
          {"environments_differ", all.differences}};
}

/// Drops the columns that no row has a time in.
void drop_empty_columns(SideBySide& all) {
  for (std::size_t i = all.columns.size(); i-- > 0;) {
    const auto has_time = [i](const SideBySide::Row& row) { return row.times[i].has_value(); };
    if (std::ranges::any_of(all.rows, has_time)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    all.columns.erase(all.columns.begin() + at);
    for (SideBySide::Row& row : all.rows) row.times.erase(row.times.begin() + at);
  }
}

}  // namespace

SideBySide side_by_side(const std::vector<ResultSource>& sources) {
  const std::vector<Entry> entries = entries_of(sources);
  const std::set<std::string> telling = telling_settings(entries);
  // index of a column by source and name
  std::map<std::size_t, std::map<std::string, std::size_t, ByNumbers>> place;
  for (const Entry& entry : entries) {
    place[entry.source].try_emplace(column_name(entry, sources, telling), 0);
  }
  SideBySide all;
  for (auto& [source, columns] : place) {
    for (auto& [column, index] : columns) {
      index = all.columns.size();
      all.columns.push_back(column);
    }
  }
  std::map<std::string, std::vector<std::vector<double>>, ByNumbers> rows;
  for (const Entry& entry : entries) {
    auto& times = rows[question_name(entry)];
    times.resize(all.columns.size());
    times[place.at(entry.source).at(column_name(entry, sources, telling))].push_back(entry.seconds);
  }
  for (const auto& [question, times] : rows) {
    SideBySide::Row row{question, {}};
    for (const auto& each : times) {
      row.times.push_back(each.empty() ? std::nullopt : std::optional(Seconds(median(each))));
    }
    const auto answered =
        std::ranges::count_if(row.times, [](const auto& time) { return time.has_value(); });
    if (answered > 1) {
      all.rows.push_back(std::move(row));
    } else {
      ++all.alone;
    }
  }
  drop_empty_columns(all);
  all.differences = environment_differences(sources);
  return all;
}

std::vector<ResultSource::Predicted> predictions_of(std::string_view text,
                                                    const std::string& name) {
  std::vector<ResultSource::Predicted> all;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const nlohmann::json& each : json.at("predictions")) {
      const nlohmann::json& run = each.at("run");
      ResultSource::Predicted one;
      for (const char* key : {"network", "dtype", "schedule"}) {
        one.axes[key] = run.at(key).get<std::string>();
      }
      for (const char* key : {"batch", "ranks"}) one.axes[key] = run.at(key).dump();
      one.time = Seconds(each.at("time").at("t_iter_s").get<double>());
      all.push_back(std::move(one));
    }
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(
        fmt::format("{} holds no predictions that can be read ({}). Name predictions in the "
                    "format json.",
                    name, error.what()));
  }
  return all;
}

std::vector<Table> side_by_side_tables(const SideBySide& all) {
  std::vector<Table> tables;
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
  document.records = side_by_side_records(all);
  document.json = json_answer("dlscale.side_by_side", [all] { return side_by_side_object(all); });
  return document;
}

}  // namespace dlscale::report
