#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/import/google/google_file.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

/// Samples by benchmark name and metric, in the order of the file.
struct Samples {
  std::string name;
  const GoogleMetric* metric;
  std::vector<double> values;
  double rounding = 0;  ///< the largest, as in Point
};

class Collector {
 public:
  Collector(ImportedRun& run, const GoogleFile& file) : run_(run), file_(file) {}

  void read(const GoogleRow& row) {
    switch (row.outcome) {
      case GoogleRow::Outcome::failed:
        run_.notes.push_back(
            fmt::format("left out: {} failed ({})", row.name, escape_for_terminal(row.message)));
        return;
      case GoogleRow::Outcome::skipped:
        run_.notes.push_back(
            fmt::format("left out: {} was skipped{}", row.name, in_brackets(row.message)));
        return;
      case GoogleRow::Outcome::ambiguous:
        run_.notes.push_back(
            fmt::format("left out: {}: {}", escape_for_terminal(row.name), row.message));
        return;
      case GoogleRow::Outcome::measured:
        break;
    }
    if (row.aggregate.empty()) return add(row, iterations_);
    // A file with --benchmark_report_aggregates_only has only the median.
    if (row.aggregate == "median") add(row, medians_);
    aggregated_.insert(row.name);
  }

  [[nodiscard]] std::vector<Samples> samples() {
    for (Samples& median : medians_.all) {
      if (!iterations_.has(median)) iterations_.all.push_back(std::move(median));
    }
    note_aggregates_alone();
    note_missing_times();
    for (Samples& samples : iterations_.all) keep_measured(samples);
    std::erase_if(iterations_.all, [](const Samples& samples) { return samples.values.empty(); });
    return std::move(iterations_.all);
  }

 private:
  /// Samples in the order of the file, found by name and metric.
  struct Found {
    std::vector<Samples> all;
    std::map<std::pair<std::string, const GoogleMetric*>, std::size_t> places;
    std::array<std::optional<std::size_t>, google_metrics.size()> latest;  ///< place, by metric

    [[nodiscard]] bool has(const Samples& samples) const {
      return places.contains({samples.name, samples.metric});
    }
    /// Of repetitions, which mostly follow each other.
    Samples& of(const std::string& name, const GoogleMetric& metric) {
      const auto which = static_cast<std::size_t>(&metric - google_metrics.data());
      std::optional<std::size_t>& last = latest[which];
      if (last && all[*last].name == name) return all[*last];
      const auto [place, fresh] = places.try_emplace({name, &metric}, all.size());
      if (fresh) all.push_back({name, &metric, {}});
      last = place->second;
      return all[*last];
    }
  };
  void add(const GoogleRow& row, Found& found) {
    for (const GoogleMetric& metric : google_metrics) {
      const auto value = row.values.find(metric.field);
      if (value == row.values.end()) {
        if (is_time(metric)) missing_times_.emplace(&metric, row.name);
        continue;
      }
      Samples& samples = found.of(row.name, metric);
      samples.values.push_back(value->second);
      samples.rounding = std::max(samples.rounding, file_.rounding(row, metric));
    }
  }
  /// Names benchmarks that have neither repetitions nor a median.
  void note_aggregates_alone() {
    for (const Samples& samples : iterations_.all) aggregated_.erase(samples.name);
    for (const std::string& name : aggregated_) {
      run_.notes.push_back(fmt::format("left out: {} has neither repetitions nor a median",
                                       escape_for_terminal(name)));
    }
  }
  /// Names rows without one of the two times, if other rows have it.
  void note_missing_times() {
    for (const auto& [metric, name] : missing_times_) {
      const bool is_printed = std::ranges::count(iterations_.all, metric, &Samples::metric) > 0;
      if (!is_printed) continue;
      run_.notes.push_back(
          fmt::format("left out: {} of {} is not there", metric->field, escape_for_terminal(name)));
    }
  }
  /// Drops values that are not numbers, and negative times and rates. A processor's clock may tick
  /// too seldom, and counters may have counted nothing.
  void keep_measured(Samples& samples) {
    std::vector<double> kept;
    for (const double value : samples.values) {
      const std::string problem = impossible(*samples.metric, value);
      if (problem.empty() && value > 0) {
        kept.push_back(value);
        continue;
      }
      run_.notes.push_back(fmt::format("left out: {} of {} {}", samples.metric->field,
                                       escape_for_terminal(samples.name),
                                       problem.empty() ? "is 0" : problem));
    }
    samples.values = std::move(kept);
  }

  ImportedRun& run_;
  const GoogleFile& file_;
  Found iterations_;
  Found medians_;
  std::set<std::string> aggregated_;
  std::set<std::pair<const GoogleMetric*, std::string>> missing_times_;
};

std::string said(const Facts& context, const char* name) {
  const auto found = context.find(name);
  return found == context.end() ? "" : found->second;
}

/// The program without its folder: its build location does not matter.
std::string program_of(const Facts& context) {
  const std::string path = said(context, "executable");
  return path.substr(path.rfind('/') + 1);
}

SeriesKey context_key(const Facts& context) {
  SeriesKey key;
  key.suite = "Google Benchmark";
  if (const std::string program = program_of(context); !program.empty()) {
    key.axes["program"] = program;
  }
  if (context.contains("num_cpus")) key.machine["cores"] = context.at("num_cpus");
  if (context.contains("caches")) key.machine["caches"] = context.at("caches");
  for (const char* field : {"cpu_scaling_enabled", "aslr_enabled", "library_build_type"}) {
    if (context.contains(field)) key.environment[field] = context.at(field);
  }
  return key;
}

}  // namespace

Origin add_google_benchmark(ImportedRun& run) {
  GoogleFile file = read_google_file(run.content);
  run.notes = std::move(file.notes);
  Collector collector(run, file);
  for (const GoogleRow& row : file.rows) collector.read(row);
  file.rows = {};  // no memory for both these and the points
  for (const Samples& samples : collector.samples()) {
    SeriesKey key = context_key(file.context);
    key.axes["benchmark"] = samples.name;
    key.metric = samples.metric->field;
    key.unit = samples.metric->unit;
    key.direction = samples.metric->direction;
    Point point;
    point.summary = summarize(samples.values);
    point.rounding = samples.rounding;
    run.points.push_back({std::move(key), std::move(point)});
  }
  for (const char* field : {"host_name", "mhz_per_cpu", "load_avg"}) {
    if (file.context.contains(field)) run.facts[field] = file.context.at(field);
  }
  return {"", said(file.context, "date")};
}

}  // namespace dlscale::regression::history
