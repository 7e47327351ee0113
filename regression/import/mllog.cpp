#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/time_text.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr std::string_view mark = ":::MLLOG ";

/// Facts that one training reports of itself.
struct Told {
  std::optional<double> start;  ///< ms since 1970
  std::optional<double> stop;
  std::string status;
  SeriesKey key;
};

void read_line(Told& told, std::string_view text) {
  const json line = json::parse(text);
  const std::string key = line.at("key");
  if (key == "run_start") told.start = line.at("time_ms").get<double>();
  if (key == "run_stop") {
    told.stop = line.at("time_ms").get<double>();
    if (line.contains("metadata")) told.status = line.at("metadata").value("status", "");
  }
  // The seed is omitted: another seed is another training of the same question.
  for (const char* name : {"submission_benchmark", "global_batch_size"}) {
    if (key == name) told.key.axes[name] = value_text(line.at("value"));
  }
  if (key == "submission_platform") told.key.machine["platform"] = value_text(line.at("value"));
}

}  // namespace

Origin add_mllog(ImportedRun& run) {
  Told told;
  std::istringstream lines(run.content);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    const std::string_view text = std::string_view(line).substr(at + mark.size());
    try {
      read_line(told, text);
    } catch (const json::exception& error) {
      throw ConfigError(fmt::format("line {}: {}", number, json_problem(error, text)));
    }
  }
  if (!told.start || !told.stop || !(*told.stop > *told.start)) {
    throw ConfigError("it has no run_start with a run_stop after it, so no time to train");
  }
  constexpr double most_ms = 1e14;  // year 5138
  if (!(*told.start >= 0) || !(*told.stop < most_ms)) {
    throw ConfigError("its time_ms are no times since 1970");
  }
  const Origin origin{"", time_text(static_cast<std::int64_t>(*told.start / 1000))};
  if (told.status != "success") {
    run.notes.push_back(fmt::format("left out: the training ended with status \"{}\"",
                                    escape_for_terminal(told.status)));
    return origin;
  }
  told.key.suite = "MLPerf";
  told.key.metric = "time to train";
  told.key.unit = "s";
  told.key.direction = Direction::smaller_is_better;
  Point point;
  point.summary = summarize(std::array{(*told.stop - *told.start) * 1e-3});
  run.points.push_back({std::move(told.key), std::move(point)});
  return origin;
}

}  // namespace dlscale::regression::history
