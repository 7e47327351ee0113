#include "regression/import/imports.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/printable.hpp"
#include "core/results/measurement.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
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

[[noreturn]] void refuse_unknown(const ImportedRun& run) {
  const std::string_view program = program_that_wrote(run.content);
  throw ConfigError(fmt::format(
      "{} {} not in a format that a history reads; it reads {}.", run.file,
      program.empty() ? "is" : fmt::format("looks like a file of {}, which is", program),
      known_formats));
}

/// Adds the file to the errors of the readers of other programs' files, and advice to those that
/// are not whole sentences.
template <class Read>
Origin read_foreign(const std::string& path, Read read) {
  try {
    return read();
  } catch (const ConfigError& error) {
    const std::string_view what = error.what();
    const bool advises = what.ends_with('.');
    throw ConfigError(fmt::format("{}: {}{}", path, what,
                                  advises ? "" : ". Measure again, or leave the file out."));
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
  refuse_unknown(run);
}

/// Names what other programs printed into the file.
void note_other_programs(ContentKind kind, ImportedRun& run) {
  for (const std::string_view program : other_programs_in(run.content, kind)) {
    run.notes.push_back(
        fmt::format("left out: what {} printed into the file, which counts as one of {}; cut it "
                    "into a file for each",
                    program, run.format));
  }
}

/// Seconds since 1970 of a time without zone, in that of this machine: "2018-03-01 11:02:03", or
/// "2015/03/17-18:40:25" as old versions of Google Benchmark write it.
std::optional<std::int64_t> local_time(std::string text) {
  constexpr std::size_t date_length = 10;
  constexpr std::size_t length = 19;
  if (text.size() != length) return std::nullopt;
  std::replace(text.begin(), text.begin() + date_length, '/', '-');
  text[date_length] = 'T';
  std::int64_t seconds = 0;
  if (!read_time(text + 'Z', seconds)) return std::nullopt;
  const std::time_t as_utc = seconds;
  std::tm calendar{};
  gmtime_r(&as_utc, &calendar);
  calendar.tm_isdst = -1;
  seconds = std::mktime(&calendar);
  return seconds < 0 ? std::nullopt : std::optional(seconds);
}

/// Whether a date with a clock stands anywhere in the text, as launchers and services print.
bool states_time(std::string_view text) {
  static const re2::RE2 moment(
      R"(\d{4}[-/]\d\d[-/]\d\d[T -]\d\d:\d\d)"
      R"(|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d)");
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), moment);
}

/// When a file says that it was made; nothing if it does not say.
std::optional<std::int64_t> time_of(const Origin& origin, ImportedRun& run) {
  if (origin.time.empty()) return std::nullopt;
  const std::string what = "the date of " + run.file;
  const std::optional<std::int64_t> local = local_time(origin.time);
  const std::int64_t time = local ? *local : parse_time(origin.time, what);
  expect_past(time, what, "Give the time of the commit.");
  if (!local) return time;
  run.notes.push_back(fmt::format("the date of {}, {}, has no zone and counts as local time: {}",
                                  run.file, escape_for_terminal(origin.time), time_text(*local)));
  return local;
}

}  // namespace

std::string value_text(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

ImportedRun read_run(const std::string& path, const RunOptions& options) {
  ImportedRun run;
  run.file = path;
  run.content = read_input(path, "Check the path.");
  std::string original;
  if (std::string text = unwrapped(run.content); !text.empty()) {
    original = std::exchange(run.content, std::move(text));
  }
  const ContentKind kind = kind_of_content(run.content);
  const Origin origin = read_as(kind, run, options);
  note_other_programs(kind, run);
  if (!original.empty()) run.content = std::move(original);
  run.is_dated = !origin.time.empty() || states_time(run.content);
  set_origin(run, options, origin.commit, options.time ? options.time : time_of(origin, run));
  add_facts(run, options);
  number_parts(run);
  // Names in files may hold anything.
  for (std::string& note : run.notes) note = escape_unprintable(note);
  return run;
}

}  // namespace dlscale::regression::history
