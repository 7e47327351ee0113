#include "report/comparison/google_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
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
#include "regression/import/google/google_samples.hpp"

namespace dlscale::report {
namespace {

using regression::history::GoogleFile;

using regression::history::GoogleOmission;

/// Times and omissions of one benchmark in a file.
struct Benchmark {
  const regression::history::GoogleSamples* samples = nullptr;
  std::vector<const GoogleOmission*> omissions;
};

/// The state of a benchmark without samples.
void explain(const std::vector<const GoogleOmission*>& omissions, Measurement& measurement) {
  using Why = GoogleOmission::Why;
  for (const GoogleOmission* omission : omissions) {
    const std::string& message = omission->message;
    if (omission->why == Why::failed) {
      measurement.status = Status::wrong;
      measurement.reason = message;
    } else if (measurement.status != Status::ok) {
      continue;
    } else if (omission->why == Why::skipped) {
      measurement.status = Status::unsupported;
      measurement.reason = "skipped" + regression::history::in_brackets(message);
    } else if (omission->why == Why::no_median) {
      measurement.reason = "neither repetitions nor a median";
    } else {
      const bool is_of_metric = omission->metric != nullptr;
      measurement.reason =
          is_of_metric ? fmt::format("{} {}", omission->metric->field, message) : message;
    }
  }
}

Environment google_environment(const regression::history::Facts& context) {
  Environment environment;
  if (const std::string program = regression::history::google_program(context); !program.empty()) {
    environment.libraries["program"] = program;
  }
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

/// The compared metric is the wall clock: of the others one repeats it and one covers the processor
/// only.
PrintedResults results_of(const GoogleFile& file) {
  const auto counted =
      counted_samples(file, std::span(regression::history::google_metrics).first(1));
  std::map<std::string, Benchmark> benchmarks;
  for (const auto& samples : counted.samples) benchmarks[samples.name].samples = &samples;
  for (const auto& omission : counted.left_out) {
    benchmarks[omission.name].omissions.push_back(&omission);
  }
  PrintedResults printed;
  printed.program = regression::history::google_program(file.context);
  ResultFile& results = printed.results;
  results.header.benchmark = "Google Benchmark";
  results.header.environment = google_environment(file.context);
  results.complete = true;
  for (const auto& [name, benchmark] : benchmarks) {
    Measurement& measurement = results.measurements.emplace_back();
    measurement.benchmark = name;
    if (benchmark.samples == nullptr) {
      explain(benchmark.omissions, measurement);
      continue;
    }
    const auto& samples = *benchmark.samples;
    measurement.series[samples.metric->field] = make_series(samples.metric->unit, {samples.values});
    if (samples.rounding > 0) printed.roundings[name] = samples.rounding;
    for (const GoogleOmission* omission : benchmark.omissions) {
      printed.notes.push_back("left out: " + omission_text(*omission));
    }
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

void add_programs(std::set<std::string>& programs, std::span<const PrintedResults> side) {
  for (const PrintedResults& printed : side) {
    if (!printed.program.empty()) programs.insert(printed.program);
  }
}

void name_program(PrintedResults& printed) {
  if (printed.program.empty()) return;
  Roundings roundings;
  for (Measurement& measurement : printed.results.measurements) {
    const auto rounding = printed.roundings.find(measurement.key());
    measurement.axes["program"] = printed.program;
    if (rounding != printed.roundings.end()) roundings[measurement.key()] = rounding->second;
  }
  printed.roundings = std::move(roundings);
}

}  // namespace

void keep_programs_apart(std::span<PrintedResults> a, std::span<PrintedResults> b) {
  for (const std::span<PrintedResults> side : {a, b}) {
    std::set<std::string> programs;
    add_programs(programs, side);
    if (programs.size() < 2) continue;
    for (const std::span<PrintedResults> each : {a, b}) {
      for (PrintedResults& printed : each) name_program(printed);
    }
    return;
  }
}

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
  PrintedResults own;
  own.results = parse_results(path, content);
  return own;
}

}  // namespace dlscale::report
