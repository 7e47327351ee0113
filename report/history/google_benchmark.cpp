#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "core/json_problem.hpp"
#include "core/shown_text.hpp"
#include "core/statistics.hpp"
#include "report/history/imports.hpp"

namespace dlscale::report::history {
namespace {

using nlohmann::json;

/// A metric that the format defines, and in what it counts.
struct GoogleMetric {
  const char* field;
  const char* unit;
  Better better;
};
constexpr std::array google_metrics{GoogleMetric{"real_time", "s", Better::smaller},
                                    GoogleMetric{"cpu_time", "s", Better::smaller},
                                    GoogleMetric{"bytes_per_second", "B/s", Better::larger},
                                    GoogleMetric{"items_per_second", "1/s", Better::larger}};

double seconds_of(const std::string& unit) {
  constexpr std::array units{std::pair{"ns", 1e-9}, std::pair{"us", 1e-6}, std::pair{"ms", 1e-3},
                             std::pair{"s", 1.0}};
  for (const auto& [name, seconds] : units) {
    if (unit == name) return seconds;
  }
  throw ConfigError(fmt::format("the time unit \"{}\" is not known", shown_text(unit)));
}

/// Samples by name of the benchmark and metric, in the order of the file.
struct Samples {
  std::string name;
  const GoogleMetric* metric;
  std::vector<double> values;
};

class Collector {
 public:
  explicit Collector(ImportedRun& run) : run_(run) {}

  void read(const json& row) {
    const std::string type = row.value("run_type", "iteration");
    const std::string name = row.value("run_name", row.at("name").get<std::string>());
    if (row.value("error_occurred", false)) {
      run_.notes.push_back(fmt::format("left out: {} failed ({})", name,
                                       shown_text(row.value("error_message", "no message"))));
      return;
    }
    if (row.value("skipped", false)) {
      run_.notes.push_back(fmt::format("left out: {} was skipped", name));
      return;
    }
    if (type == "iteration") return add(name, row, iterations_);
    if (type != "aggregate") {
      throw ConfigError(fmt::format("the run type \"{}\" is not known", shown_text(type)));
    }
    // Of a file with --benchmark_report_aggregates_only the median is all there is.
    if (row.value("aggregate_name", "") == "median") add(name, row, medians_);
  }

  [[nodiscard]] std::vector<Samples> samples() {
    for (Samples& median : medians_) {
      if (find(iterations_, median.name, *median.metric) == iterations_.end()) {
        iterations_.push_back(std::move(median));
      }
    }
    return std::move(iterations_);
  }

 private:
  using Place = std::vector<Samples>::iterator;
  static Place find(std::vector<Samples>& all, const std::string& name,
                    const GoogleMetric& metric) {
    return std::ranges::find_if(all, [&](const Samples& samples) {
      return samples.metric == &metric && samples.name == name;
    });
  }
  void add(const std::string& name, const json& row, std::vector<Samples>& all) {
    for (const GoogleMetric& metric : google_metrics) {
      if (!row.contains(metric.field)) continue;
      double value = row.at(metric.field).get<double>();
      if (metric.unit == std::string_view("s")) {
        value *= seconds_of(row.value("time_unit", "ns"));
      }
      if (!std::isfinite(value)) {
        throw ConfigError(fmt::format("{} of {} is not finite", metric.field, shown_text(name)));
      }
      if (value < 0 || (value == 0 && &metric == google_metrics.data())) {
        throw ConfigError(fmt::format("{} of {} is {}, which nothing measured can be", metric.field,
                                      shown_text(name), value));
      }
      // A clock of the processor may tick too seldom, and counters may have counted nothing.
      if (value == 0) {
        run_.notes.push_back(fmt::format("left out: {} of {} is 0", metric.field, name));
        continue;
      }
      auto found = find(all, name, metric);
      if (found == all.end()) found = all.insert(all.end(), {name, &metric, {}});
      found->values.push_back(value);
    }
  }

  ImportedRun& run_;
  std::vector<Samples> iterations_;
  std::vector<Samples> medians_;
};

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// The program without its folder: where it was built does not matter.
std::string program_of(const json& context) {
  const std::string path = context.value("executable", "");
  return path.substr(path.rfind('/') + 1);
}

SeriesKey context_key(const json& context) {
  SeriesKey key;
  key.suite = "Google Benchmark";
  if (const std::string program = program_of(context); !program.empty()) {
    key.axes["program"] = program;
  }
  if (context.contains("num_cpus")) key.machine["cores"] = text_of(context.at("num_cpus"));
  if (context.contains("caches")) {
    std::string sizes;
    for (const json& cache : context.at("caches")) {
      sizes += fmt::format("{}L{} {}", sizes.empty() ? "" : ", ", text_of(cache.at("level")),
                           text_of(cache.at("size")));
    }
    key.machine["caches"] = sizes;
  }
  for (const char* field : {"cpu_scaling_enabled", "aslr_enabled", "library_build_type"}) {
    if (context.contains(field)) key.environment[field] = text_of(context.at(field));
  }
  return key;
}

Origin read_document(ImportedRun& run, const json& document) {
  const json& context = document.at("context");
  Collector collector(run);
  for (const json& row : document.at("benchmarks")) collector.read(row);
  for (const Samples& samples : collector.samples()) {
    SeriesKey key = context_key(context);
    key.axes["benchmark"] = samples.name;
    key.metric = samples.metric->field;
    key.unit = samples.metric->unit;
    key.better = samples.metric->better;
    Point point;
    point.summary = summarize(samples.values);
    run.points.push_back({std::move(key), std::move(point)});
  }
  for (const char* field : {"host_name", "mhz_per_cpu", "load_avg"}) {
    if (context.contains(field)) run.facts[field] = text_of(context.at(field));
  }
  return {"", context.value("date", "")};
}

}  // namespace

Origin add_google_benchmark(ImportedRun& run) {
  try {
    return read_document(run, json::parse(run.content));
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, run.content));
  }
}

}  // namespace dlscale::report::history
