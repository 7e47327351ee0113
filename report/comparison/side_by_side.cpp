#include "report/comparison/side_by_side.hpp"

#include <algorithm>
#include <array>
#include <cmath>
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
#include "core/text/quantity_text.hpp"
#include "report/results/axes.hpp"
#include "report/results/environment_rows.hpp"
#include "report/results/rates.hpp"

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
  ComparedTime time;
  std::string device = {};
  std::string software = {};
  std::string basis = "measured";
};

/// The GPU that a file names, else the processor.
std::string device_of(const Environment& environment) {
  const auto gpu = environment.libraries.find("GPU");
  return gpu == environment.libraries.end() ? environment.cpu : gpu->second;
}

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

/// The median of a summary, without samples.
ComparedTime time_of(const Summary& summary) {
  ComparedTime time{Seconds(summary.median)};
  if (has_interval(summary)) {
    time.low = Seconds(summary.ci95_low);
    time.high = Seconds(summary.ci95_high);
  }
  return time;
}

/// The samples of a launch; empty without them, or with one of 0 s, which has no ratio.
Repeats launch_of(const Series& series) {
  if (series.samples.empty()) return {};
  std::vector<double> samples = slowest_rank(series.samples);
  const bool usable = !samples.empty() && std::ranges::min(samples) > 0;
  return usable ? Repeats{std::move(samples)} : Repeats{};
}

void append_measured(std::vector<Entry>& entries, const ResultSource& source, std::size_t index) {
  for (const ResultFile& file : source.results) {
    for (const Measurement& row : file.measurements) {
      const bool counts = row.status == Status::ok || row.status == Status::unstable;
      const auto time = row.series.find(row.benchmark == "e2e" ? "t_iter" : "time");
      if (!counts || time == row.series.end() || time->second.unit != "s") continue;
      Entry entry{index, row.benchmark, {}, {}, time_of(time->second.summary)};
      entry.time.launches = launch_of(time->second);
      split_axes(entry, row.axes);
      entry.device = device_of(file.header.environment);
      entry.software = axis_or_empty(row, "backend");
      if (entry.time.time.si() > 0) entries.push_back(std::move(entry));
    }
  }
}

std::vector<Entry> entries_of(const std::vector<ResultSource>& sources) {
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    append_measured(entries, sources[i], i);
    for (const ResultSource::Predicted& each : sources[i].predicted) {
      Entry entry{i, "e2e", {}, {}, each.time};
      split_axes(entry, each.axes);
      entry.device = each.device;
      entry.software = each.framework;
      entry.basis = "predicted";
      if (entry.time.time.si() > 0) entries.push_back(std::move(entry));
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

/// Whether all ran on one node, so that their number of ranks says how many ran on it.
bool are_of_one_node(const std::vector<Entry>& entries) {
  return std::ranges::all_of(entries, [](const Entry& entry) {
    const auto on_node = entry.setting.find("ranks_on_node");
    return on_node == entry.setting.end() ||
           on_node->second == axis_or_empty(entry.question, "ranks");
  });
}

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
  if (are_of_one_node(entries)) names.erase("ranks_on_node");
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

/// Drops the columns that no row has a time in.
void drop_empty_columns(SideBySide& all) {
  for (std::size_t i = all.columns.size(); i-- > 0;) {
    const auto has_time = [i](const SideBySide::Row& row) { return row.times[i].has_value(); };
    if (std::ranges::any_of(all.rows, has_time)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    all.columns.erase(all.columns.begin() + at);
    all.predicted.erase(all.predicted.begin() + at);
    for (SideBySide::Row& row : all.rows) row.times.erase(row.times.begin() + at);
  }
}

/// The times of a question in one column.
struct TimesOfColumn {
  std::vector<ComparedTime> repeats;
  const Entry* first = nullptr;

  void add(const Entry& entry) {
    // Equal predictions are refused where they are read.
    EXPECT(first == nullptr || entry.basis == "measured");
    if (first == nullptr) first = &entry;
    repeats.push_back(entry.time);
  }
  [[nodiscard]] ComparedTime joined() const {
    if (repeats.size() == 1) return repeats.front();
    std::vector<double> seconds;
    for (const ComparedTime& each : repeats) seconds.push_back(each.time.si());
    ComparedTime all = time_of(summarize(seconds));
    const auto is_known = [](const ComparedTime& each) { return each.low && each.high; };
    if (!all.low && std::ranges::all_of(repeats, is_known)) {
      all.low = std::ranges::min_element(repeats, {}, &ComparedTime::low)->low;
      all.high = std::ranges::max_element(repeats, {}, &ComparedTime::high)->high;
    }
    for (const ComparedTime& each : repeats) {
      if (each.launches.empty()) {
        all.launches.clear();
        break;
      }
      all.launches.push_back(each.launches.front());
    }
    return all;
  }
};

/// The times of one question, the fastest first.
std::vector<Timing> timings_of(const SideBySide& all, const std::string& question,
                               const std::vector<TimesOfColumn>& times) {
  std::vector<Timing> timings;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].first == nullptr) continue;
    const Entry& entry = *times[i].first;
    timings.push_back({entry.benchmark, question, entry.question, all.columns[i], entry.device,
                       entry.software, entry.basis, times[i].joined()});
  }
  std::ranges::stable_sort(timings, {}, [](const Timing& each) { return each.time.time; });
  for (std::size_t i = 0; i < timings.size(); ++i) {
    timings[i].place = i + 1;
    timings[i].of_fastest = timings[i].time.time / timings.front().time.time;
  }
  return timings;
}

/// A question answered by one column has no row; of these, trainings still have their time.
void append_row(SideBySide& all, const std::string& question,
                const std::vector<TimesOfColumn>& times) {
  const std::vector<Timing> timings = timings_of(all, question, times);
  if (timings.size() > 1 || timings.front().benchmark == "e2e") {
    all.timings.insert(all.timings.end(), timings.begin(), timings.end());
  }
  if (timings.size() == 1) {
    ++all.alone;
    return;
  }
  SideBySide::Row row{question, {}};
  for (const TimesOfColumn& each : times) {
    row.times.push_back(each.first == nullptr ? std::nullopt : std::optional(each.joined()));
  }
  all.rows.push_back(std::move(row));
}

/// Trainings by network, data type, ranks and batch, then kernels by their axes.
std::string order_of_timing(const Timing& timing) {
  if (timing.benchmark != "e2e") return "1 " + timing.measurement;
  const Axes& axes = timing.question;
  return fmt::format("0 {} {} {} {}", axis_or_empty(axes, "network"), axis_or_empty(axes, "dtype"),
                     axis_or_empty(axes, "ranks"), axis_or_empty(axes, "batch"));
}

/// The framework that an answer was asked for; empty if none was.
std::string framework_of(const nlohmann::json& answer) {
  const auto options = answer.find("options");
  if (options == answer.end() || !options->contains("framework")) return "";
  return options->at("framework").at(0).get<std::string>();
}

/// Absent if it is null or missing.
std::optional<Seconds> seconds_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  return Seconds(found->get<double>());
}

/// How a run was predicted, as far as one file may hold several ways.
void add_settings(const nlohmann::json& prediction, std::map<std::string, std::string>& axes) {
  const nlohmann::json& run = prediction.at("run");
  for (const char* key : {"synchronisation", "sharding"}) {
    if (run.contains(key) && run.at(key).is_string()) axes[key] = run.at(key).get<std::string>();
  }
  if (run.contains("bucket_bytes") && !run.at("bucket_bytes").is_null()) {
    axes["bucket"] = to_text(Bytes(run.at("bucket_bytes").get<double>()));
  }
  const auto link = prediction.find("inter_node");
  if (link == prediction.end() || link->is_null()) return;
  axes["inter_node"] = to_text(BytesPerSecond(link->at("bandwidth_bytes_per_s").get<double>()));
}

/// Throws ConfigError unless 0 < low ≤ time ≤ high, where there is an interval.
void refuse_impossible(const ComparedTime& time, const std::string& name) {
  const Seconds low = time.low.value_or(time.time);
  const Seconds high = time.high.value_or(time.time);
  const bool is_whole = time.low.has_value() == time.high.has_value();
  if (is_whole && low.si() > 0 && low <= time.time && time.time <= high &&
      std::isfinite(high.si())) {
    return;
  }
  throw ConfigError(fmt::format(
      "{} has a predicted time of {} s with an interval from {} to {} s, which cannot be. Predict "
      "again in the format json.",
      name, time.time.si(), time.low ? fmt::to_string(low.si()) : "nothing",
      time.high ? fmt::to_string(high.si()) : "nothing"));
}

/// Throws ConfigError if two predictions answer the same question in the same way.
void refuse_equal(const std::vector<ResultSource::Predicted>& all, const std::string& name) {
  std::set<std::map<std::string, std::string>> met;
  for (const ResultSource::Predicted& each : all) {
    if (met.insert(each.axes).second) continue;
    std::string run;
    for (const auto& [axis, value] : each.axes) {
      run += fmt::format("{}{}={}", run.empty() ? "" : ", ", axis, value);
    }
    throw ConfigError(fmt::format(
        "{} holds two predictions of one run ({}), so that neither can stand for it. Leave one "
        "out, or put them into files of their own.",
        name, run));
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
      all.predicted.push_back(sources[source].results.empty());
    }
  }
  std::map<std::string, std::vector<TimesOfColumn>, ByNumbers> rows;
  for (const Entry& entry : entries) {
    auto& times = rows[question_name(entry)];
    times.resize(all.columns.size());
    times[place.at(entry.source).at(column_name(entry, sources, telling))].add(entry);
  }
  for (const auto& [question, times] : rows) append_row(all, question, times);
  std::ranges::stable_sort(all.timings, ByNumbers(), order_of_timing);
  drop_empty_columns(all);
  all.differences = environment_differences(sources);
  return all;
}

std::vector<ResultSource::Predicted> predictions_of(std::string_view text,
                                                    const std::string& name) {
  std::vector<ResultSource::Predicted> all;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    const std::string framework = framework_of(json);
    for (const nlohmann::json& each : json.at(json.contains("rows") ? "rows" : "predictions")) {
      const nlohmann::json& run = each.at("run");
      ResultSource::Predicted one;
      for (const char* key : {"network", "dtype", "schedule"}) {
        one.axes[key] = run.at(key).get<std::string>();
      }
      for (const char* key : {"batch", "ranks"}) one.axes[key] = run.at(key).dump();
      one.device = run.at("cluster").get<std::string>();
      one.framework = framework;
      one.time.time = Seconds(each.at("time").at("t_iter_s").get<double>());
      one.time.low = seconds_in(each, "t_iter_low_s");
      one.time.high = seconds_in(each, "t_iter_high_s");
      add_settings(each, one.axes);
      refuse_impossible(one.time, name);
      all.push_back(std::move(one));
    }
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(
        fmt::format("{} holds no predictions that can be read ({}). Name predictions in the "
                    "format json.",
                    name, error.what()));
  }
  refuse_equal(all, name);
  return all;
}

}  // namespace dlscale::report
