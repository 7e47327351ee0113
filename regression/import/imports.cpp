#include "regression/import/imports.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/system/input_file.hpp"
#include "core/text/time_text.hpp"
#include "regression/import/content_kind.hpp"
#include "regression/import/result_run.hpp"

namespace dlscale::regression::history {
namespace {

constexpr const char* known_formats =
    "result files (*.jsonl) and JSON of validations by dlscale, JSON of Google Benchmark "
    "(--benchmark_format=json) and hyperfine (--export-json), text of nccl-tests and of OSU's "
    "benchmarks, logs of MLPerf "
    "(:::MLLOG)";

[[noreturn]] void refuse_unknown(const std::string& path) {
  throw ConfigError(
      fmt::format("{} is not in a format that a history reads; it reads {}.", path, known_formats));
}

/// Adds the file to the errors of the readers of other programs' files.
template <class Read>
Origin read_foreign(const std::string& path, Read read) {
  try {
    return read();
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{}: {}. Measure again, or leave the file out.", path, error.what()));
  }
}

Origin read_result(ImportedRun& run) {
  run.format = "dlscale.result";
  const ResultFile file = read_results(run.file);
  add_points(run, file);
  return {measured_commit(file.header.environment), file.header.environment.date};
}

Origin read_as(ContentKind kind, ImportedRun& run, const RunOptions& options) {
  switch (kind) {
    case ContentKind::result:
      return read_result(run);
    case ContentKind::validation:
      run.format = "dlscale.validation";
      return read_foreign(run.file, [&] { return add_validation(run); });
    case ContentKind::google_benchmark:
      run.format = "Google Benchmark";
      return read_foreign(run.file, [&] { return add_google_benchmark(run); });
    case ContentKind::hyperfine:
      run.format = "hyperfine";
      return read_foreign(run.file, [&] { return add_hyperfine(run); });
    case ContentKind::nccl_tests:
      run.format = "nccl-tests";
      return read_foreign(run.file, [&] { return add_nccl_tests(run, options); });
    case ContentKind::osu:
      run.format = "OSU";
      return read_foreign(run.file, [&] { return add_osu(run); });
    case ContentKind::mllog:
      run.format = "MLPerf";
      return read_foreign(run.file, [&] { return add_mllog(run); });
    case ContentKind::unknown:
      break;
  }
  refuse_unknown(run.file);
}

}  // namespace

std::string value_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

ImportedRun read_run(const std::string& path, const RunOptions& options) {
  ImportedRun run;
  run.file = path;
  run.content = read_input(path, "Check the path.");
  const Origin origin = read_as(kind_of_content(run.content), run, options);
  std::optional<std::int64_t> time;
  if (!origin.time.empty()) time = parse_time(origin.time, "the date of " + path);
  set_origin(run, options, origin.commit, time);
  add_facts(run, options);
  number_parts(run);
  return run;
}

}  // namespace dlscale::regression::history
