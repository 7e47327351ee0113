#include "suite/cells/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "core/base/error.hpp"
#include "core/results/json_count.hpp"
#include "core/results/measurement.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/numbers.hpp"
#include "core/text/words.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view schema = "dlscale.cell";
constexpr int version = 1;

constexpr Words<CellStatus, 9> status_words{{{CellStatus::ok, "ok"},
                                             {CellStatus::unstable, "unstable"},
                                             {CellStatus::throttled, "throttled"},
                                             {CellStatus::nothing_measured, "nothing measured"},
                                             {CellStatus::unsupported, "unsupported"},
                                             {CellStatus::wrong, "wrong"},
                                             {CellStatus::failed, "failed"},
                                             {CellStatus::crashed, "crashed"},
                                             {CellStatus::timeout, "timeout"}}};
static_assert(in_order(status_words));

/// Whether a byte belongs to words, unlike the lines of dashes that launchers print.
bool is_letter(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= 0x80 || std::isalpha(value) != 0;
}

/// The last error line of a dlscale program, else the last line, which remains of a crash. Only the
/// end of a long log is read.
std::string last_words(const fs::path& log) {
  constexpr std::streamoff most = 64 * 1024;
  constexpr std::size_t longest = 500;
  constexpr std::string_view own = "dlscale: ";
  std::ifstream stream(log, std::ios::binary);
  stream.seekg(0, std::ios::end);
  stream.seekg(std::max<std::streamoff>(0, stream.tellg() - most));
  std::string last;
  std::string last_own;
  for (std::string line; std::getline(stream, line);) {
    if (std::ranges::none_of(line, is_letter)) continue;
    last = line;
    if (line.starts_with(own)) last_own = line.substr(own.size());
  }
  std::string words = last_own.empty() ? last : last_own;
  if (words.size() > longest) words = words.substr(0, longest) + "…";
  return words;
}

/// Whether the readings of a measurement show throttling other than the power cap.
bool was_throttled(const Measurement& measurement) {
  const auto found = measurement.series.find("throttle_reasons");
  if (found == measurement.series.end()) return false;
  return std::ranges::any_of(found->second.samples, [](const std::vector<double>& rank) {
    return std::ranges::any_of(rank, [](double bits) {
      if (!holds_bits(bits)) return false;
      return !throttle_names(static_cast<std::uint64_t>(bits) & ~power_cap_reason).empty();
    });
  });
}

struct Results {
  int measurements = 0;
  int unstable = 0;
  int wrong = 0;
  int throttled = 0;
  std::string first_reason;  ///< reason of the first wrong row, else of the first unstable one
  std::string problem;       ///< reason why results cannot be read
};

Results results_in(const fs::path& folder) {
  Results results;
  std::string of_unstable;
  try {
    for (const ResultFile& file : read_result_tree(folder)) {
      for (const Measurement& row : file.measurements) {
        ++results.measurements;
        results.throttled += was_throttled(row) ? 1 : 0;
        if (row.status == Status::unstable && results.unstable++ == 0) of_unstable = row.reason;
        if (row.status == Status::wrong && results.wrong++ == 0) results.first_reason = row.reason;
      }
    }
  } catch (const ConfigError& error) {
    results.problem = error.what();
  }
  if (results.wrong == 0) results.first_reason = of_unstable;
  return results;
}

/// Whether the thermal throttling count of the processors grew.
bool host_was_throttled(const CellRow& row) {
  return row.before.throttled && row.after.throttled &&
         *row.after.throttled > *row.before.throttled;
}

void judge_finished(CellRow& row, const Results& results) {
  if (!results.problem.empty()) {
    row.status = CellStatus::failed;
    row.reason = results.problem;
  } else if (results.throttled > 0) {
    row.status = CellStatus::throttled;
    row.reason =
        fmt::format("GPUs were throttled in {}", counted(results.throttled, "measurement"));
  } else if (host_was_throttled(row)) {
    row.status = CellStatus::throttled;
    row.reason = "processors of this machine were throttled by heat";
  } else if (results.unstable > 0) {
    row.status = CellStatus::unstable;
    row.reason = fmt::format("{} of {} did not settle: {}", results.unstable,
                             counted(results.measurements, "measurement"), results.first_reason);
  } else {
    row.status = CellStatus::ok;
  }
}

/// Whether the cell is a benchmark. Benchmarks give no verdict, so such an exit code comes from a
/// launcher or a library.
bool is_benchmark(const CellRow& row) {
  return std::ranges::find(row.command, "bench") != row.command.end();
}

CellStatus status_of(ExitCode code, const CellRow& row, const ChildExit& exit,
                     const Results& results) {
  switch (code) {
    case ExitCode::ok:
      return CellStatus::ok;
    case ExitCode::regression:
    case ExitCode::inconclusive:
      return is_benchmark(row) ? CellStatus::crashed : CellStatus::failed;
    case ExitCode::bad_input:
      return CellStatus::failed;
    case ExitCode::wrong_result:
      // The crash of a rank has the same code, as do codes that are not dlscale's.
      return results.wrong > 0 && exit.code == static_cast<int>(code) ? CellStatus::wrong
                                                                      : CellStatus::crashed;
    case ExitCode::nothing_measured:
      return CellStatus::nothing_measured;
    case ExitCode::not_built:
      return CellStatus::unsupported;
    case ExitCode::interrupted:
    case ExitCode::terminated:
      return CellStatus::crashed;
  }
  fail_expectation("an exit code");
}

ordered_json conditions_json(const Conditions& conditions) {
  ordered_json value{{"load", conditions.load},
                     {"runnable_threads", conditions.runnable_threads},
                     {"clocks", conditions.clocks}};
  value["throttled"] = conditions.throttled ? ordered_json(*conditions.throttled) : ordered_json();
  return value;
}

Conditions parse_conditions(const nlohmann::json& value) {
  Conditions conditions{value.at("load"), value.at("runnable_threads"), value.at("clocks"), {}};
  if (!value.at("throttled").is_null())
    conditions.throttled = json_count<std::int64_t>(value.at("throttled"), "throttled");
  return conditions;
}

}  // namespace

std::string_view cell_status_name(CellStatus status) {
  return name_of(status, status_words);
}

bool is_fine(CellStatus status) {
  return status < CellStatus::wrong;
}

void judge(CellRow& row, const ChildExit& exit, const fs::path& folder) {
  const Results results = results_in(folder);
  row.exit_code = exit.code;
  row.measurements = results.measurements;
  row.unstable = results.unstable;
  row.wrong = results.wrong;
  if (exit.timed_out) {
    row.status = CellStatus::timeout;
    row.reason =
        fmt::format("it took longer than it may, and was ended after {:.1f} s", row.seconds);
    return;
  }
  row.status = status_of(exit_code_of(exit), row, exit, results);
  if (row.status == CellStatus::ok) {
    judge_finished(row, results);
    return;
  }
  row.reason = row.status == CellStatus::wrong ? results.first_reason : describe(exit);
  const std::string words = last_words(folder / log_file);
  if (row.status != CellStatus::wrong && !words.empty()) {
    row.reason += fmt::format(", and its last words were: {}", words);
  }
}

std::string to_line(const CellRow& row) {
  EXPECT(std::isfinite(row.seconds));
  const ordered_json value{{"schema", schema},
                           {"version", version},
                           {"cell", row.cell},
                           {"status", cell_status_name(row.status)},
                           {"reason", row.reason},
                           {"exit_code", row.exit_code},
                           {"seconds", row.seconds},
                           {"started", row.started},
                           {"command", row.command},
                           {"nodes", row.shape.nodes},
                           {"ranks_per_node", row.shape.ranks_per_node},
                           {"gpus_per_rank", row.shape.gpus_per_rank},
                           {"threads", row.shape.threads},
                           {"job", row.job},
                           {"node_names", row.nodes},
                           {"job_options", row.job_options},
                           {"measurements", row.measurements},
                           {"unstable", row.unstable},
                           {"wrong", row.wrong},
                           {"before", conditions_json(row.before)},
                           {"after", conditions_json(row.after)}};
  // Output of programs may not be UTF-8.
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

CellRow parse_row(std::string_view line) {
  try {
    expect_json_depth(line);
    // The ordered form compares each key with all others.
    const auto value = nlohmann::json::parse(line);
    if (value.at("schema") != schema || value.at("version") != version) {
      throw ConfigError("this is not a row of a cell that this dlscale can read");
    }
    const auto count = [&value](const char* key) { return json_count<int>(value.at(key), key); };
    CellRow row;
    row.cell = value.at("cell");
    row.status = value_of("status of a cell", value.at("status").get<std::string>(), status_words);
    row.reason = value.at("reason");
    row.exit_code = count("exit_code");
    row.seconds = value.at("seconds");
    row.started = value.at("started");
    row.command = value.at("command").get<std::vector<std::string>>();
    row.shape = {count("nodes"), count("ranks_per_node"), count("gpus_per_rank"), count("threads")};
    row.job = value.at("job");
    row.nodes = value.at("node_names");
    row.job_options = value.value("job_options", std::vector<std::string>());
    row.measurements = count("measurements");
    row.unstable = count("unstable");
    row.wrong = count("wrong");
    row.before = parse_conditions(value.at("before"));
    row.after = parse_conditions(value.at("after"));
    return row;
  } catch (const nlohmann::json::exception&) {
    throw ConfigError("this is not a row of a cell");
  }
}

}  // namespace dlscale::suite
