#include "report/comparison/google_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/result_json.hpp"
#include "core/results/result_paths.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/import/content_kind.hpp"
#include "regression/import/google/google_file.hpp"

namespace dlscale::report {
namespace {

using regression::history::GoogleFile;
using regression::history::GoogleRow;

/// The compared metric: of the others one repeats it and one covers the processor only.
constexpr const regression::history::GoogleMetric& real_time =
    regression::history::google_metrics.front();

/// Contents of the rows of one benchmark.
struct Benchmark {
  std::string name;
  std::vector<double> times;    ///< from repetitions
  std::vector<double> medians;  ///< from files with aggregates only
  double rounding = 0;          ///< of the coarsest of them
  Status status = Status::ok;
  std::string reason;
};

void take(Benchmark& benchmark, const GoogleRow& row, const GoogleFile& file) {
  if (row.outcome == GoogleRow::Outcome::failed) {
    benchmark.status = Status::wrong;
    benchmark.reason = row.message;
  } else if (row.outcome == GoogleRow::Outcome::skipped && benchmark.status == Status::ok) {
    benchmark.status = Status::unsupported;
    benchmark.reason = "skipped" + regression::history::in_brackets(row.message);
  } else if (row.outcome == GoogleRow::Outcome::ambiguous) {
    benchmark.reason = row.message;
  }
  const auto found = row.values.find(real_time.field);
  if (found == row.values.end()) return;
  benchmark.rounding = std::max(benchmark.rounding, file.rounding(row, real_time));
  if (row.aggregate.empty()) benchmark.times.push_back(found->second);
  if (row.aggregate == "median") benchmark.medians.push_back(found->second);
}

Measurement measured(Benchmark benchmark) {
  Measurement measurement;
  measurement.benchmark = benchmark.name;
  measurement.status = benchmark.status;
  measurement.reason = benchmark.reason;
  std::vector<double>& times = benchmark.times.empty() ? benchmark.medians : benchmark.times;
  if (benchmark.status == Status::ok && times.empty() && measurement.reason.empty()) {
    measurement.reason = "neither repetitions nor a median";
  }
  if (benchmark.status != Status::ok || times.empty()) return measurement;
  for (const double time : times) {
    const std::string problem = regression::history::impossible(real_time, time);
    if (problem.empty()) continue;
    measurement.reason = fmt::format("{} {}", real_time.field, problem);
    return measurement;
  }
  measurement.series[real_time.field] = make_series(real_time.unit, {std::move(times)});
  return measurement;
}

Environment google_environment(const regression::history::Facts& context) {
  Environment environment;
  for (const auto& [name, value] : context) {
    if (name == "date") environment.date = value;
    if (name == "host_name") environment.host_hash = value;
    if (name == "load_avg") environment.load = value;
    if (name == "num_cpus") {
      std::from_chars(value.data(), value.data() + value.size(), environment.cores);
    }
    for (const char* said :
         {"caches", "cpu_scaling_enabled", "aslr_enabled", "library_build_type"}) {
      if (name == said) environment.libraries[name] = value;
    }
  }
  return environment;
}

PrintedResults results_of(const GoogleFile& file) {
  std::vector<Benchmark> benchmarks;
  std::map<std::string_view, std::size_t> places;  // indices of these, by name
  for (const GoogleRow& row : file.rows) {
    const auto [place, is_new] = places.try_emplace(row.name, benchmarks.size());
    if (is_new) benchmarks.emplace_back().name = row.name;
    take(benchmarks[place->second], row, file);
  }
  PrintedResults printed;
  ResultFile& results = printed.results;
  results.header.benchmark = "Google Benchmark";
  results.header.environment = google_environment(file.context);
  results.complete = true;
  for (Benchmark& benchmark : benchmarks) {
    if (benchmark.rounding > 0) printed.roundings[benchmark.name] = benchmark.rounding;
    results.measurements.push_back(measured(std::move(benchmark)));
  }
  return printed;
}

using regression::history::ContentKind;

PrintedResults read_google(const std::filesystem::path& path, std::string_view content) {
  try {
    PrintedResults printed = results_of(regression::history::read_google_file(content));
    printed.results.path = path;
    return printed;
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{}: {}. Measure again, or leave the file out.", path.string(), error.what()));
  }
}

void refuse_other_programs(const std::filesystem::path& path, std::string_view content,
                           ContentKind kind) {
  const std::string_view program = regression::history::program_that_wrote(content);
  if (program.empty()) return;
  throw ConfigError(fmt::format(
      "{} is a file of {}, and compare reads results of dlscale and JSON of Google Benchmark. {}",
      escape_for_terminal(path.string()), program,
      kind == ContentKind::unknown ? "Let the program write one of these."
                                   : "Add both files to a history, whose check judges them."));
}

}  // namespace

std::optional<PrintedResults> google_results(const std::filesystem::path& path) {
  const std::string content = read_input(path, "Check the path.");
  const bool is_google =
      regression::history::kind_of_content(content) == ContentKind::google_benchmark;
  return is_google ? std::optional(read_google(path, content)) : std::nullopt;
}

PrintedResults compared_results(const std::filesystem::path& path) {
  const std::string content = read_input(path, advice_on_results);
  const ContentKind kind = regression::history::kind_of_content(content);
  if (kind == ContentKind::google_benchmark) return read_google(path, content);
  if (kind != ContentKind::result) refuse_other_programs(path, content, kind);
  return {parse_results(path, content), {}};
}

}  // namespace dlscale::report
