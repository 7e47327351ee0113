#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "core/input_file.hpp"
#include "core/measurement.hpp"
#include "report/history/imports.hpp"
#include "report/history/result_run.hpp"
#include "report/history/time_text.hpp"

namespace dlscale::report::history {
namespace {

using nlohmann::json;

constexpr std::string_view advice = "Check the path.";
constexpr const char* known_formats =
    "result files (*.jsonl) and JSON of dlscale validate, JSON of Google Benchmark "
    "(--benchmark_format=json) and hyperfine (--export-json), text of nccl-tests, logs of "
    "Megatron-LM and of MLPerf (:::MLLOG)";

enum class Kind {
  result,
  validation,
  google_benchmark,
  hyperfine,
  nccl_tests,
  megatron,
  mllog,
  unknown
};

Kind kind_of_json(const json& document) {
  if (!document.is_object()) return Kind::unknown;
  const auto schema = document.find("schema");
  if (schema != document.end()) {
    if (*schema == "dlscale.result") return Kind::result;
    if (*schema == "dlscale.validation") return Kind::validation;
    return Kind::unknown;
  }
  if (document.contains("context") && document.contains("benchmarks")) {
    return Kind::google_benchmark;
  }
  return document.contains("results") ? Kind::hyperfine : Kind::unknown;
}

/// Of several lines of JSON the first tells. Damaged JSON is left to the reader that its beginning
/// calls for, whose message has the line.
Kind kind_of(std::string_view content) {
  const std::string_view line = content.substr(0, content.find('\n'));
  if (const json first = json::parse(line, nullptr, false); first.is_object()) {
    if (const Kind kind = kind_of_json(first); kind != Kind::unknown) return kind;
  }
  if (line.find("\"dlscale.result\"") != std::string_view::npos) return Kind::result;
  const std::size_t start = content.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && content[start] == '{') {
    const std::string_view head = content.substr(start, 4096);
    if (head.find("\"dlscale.validation\"") != std::string_view::npos) return Kind::validation;
    if (const json whole = json::parse(content, nullptr, false); whole.is_object()) {
      return kind_of_json(whole);
    }
    if (head.find("\"context\"") != std::string_view::npos) return Kind::google_benchmark;
    if (head.find("\"results\"") != std::string_view::npos) return Kind::hyperfine;
    return Kind::unknown;
  }
  if (content.find(":::MLLOG ") != std::string_view::npos) return Kind::mllog;
  if (content.find("elapsed time per iteration (ms):") != std::string_view::npos) {
    return Kind::megatron;
  }
  const bool nccl = content.find("nThread ") != std::string_view::npos ||
                    content.find("busbw") != std::string_view::npos;
  return nccl ? Kind::nccl_tests : Kind::unknown;
}

[[noreturn]] void refuse_unknown(const std::string& path) {
  throw ConfigError(
      fmt::format("{} is in no format that a history takes. It takes {}.", path, known_formats));
}

/// Where the readers of other programs' files say what is wrong, this adds the file.
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

Origin read_as(Kind kind, ImportedRun& run, const RunOptions& options) {
  switch (kind) {
    case Kind::result:
      return read_result(run);
    case Kind::validation:
      run.format = "dlscale.validation";
      return read_foreign(run.file, [&] { return add_validation(run); });
    case Kind::google_benchmark:
      run.format = "Google Benchmark";
      return read_foreign(run.file, [&] { return add_google_benchmark(run); });
    case Kind::hyperfine:
      run.format = "hyperfine";
      return read_foreign(run.file, [&] { return add_hyperfine(run); });
    case Kind::nccl_tests:
      run.format = "nccl-tests";
      return read_foreign(run.file, [&] { return add_nccl_tests(run, options); });
    case Kind::megatron:
      run.format = "Megatron-LM";
      return read_foreign(run.file, [&] { return add_megatron(run); });
    case Kind::mllog:
      run.format = "MLPerf";
      return read_foreign(run.file, [&] { return add_mllog(run); });
    case Kind::unknown:
      break;
  }
  refuse_unknown(run.file);
}

}  // namespace

ImportedRun read_run(const std::string& path, const RunOptions& options) {
  std::ifstream stream = open_input(path, advice);
  ImportedRun run;
  run.file = path;
  run.content.assign(std::istreambuf_iterator<char>(stream), {});
  const Origin origin = read_as(kind_of(run.content), run, options);
  std::optional<std::int64_t> time;
  if (!origin.time.empty()) time = parse_time(origin.time, "the date of " + path);
  set_origin(run, options, origin.commit, time);
  add_facts(run, options);
  number_parts(run);
  return run;
}

}  // namespace dlscale::report::history
