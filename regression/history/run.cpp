#include "regression/history/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/time_text.hpp"
#include "regression/history/commit_name.hpp"

namespace dlscale::regression::history {
namespace {

void overlay(Facts& facts, const Facts& stated) {
  for (const auto& [name, value] : stated) facts.insert_or_assign(name, value);
}

/// The present, by a clock that is not behind this program.
std::int64_t now() {
  constexpr std::int64_t release = 1'795'910'400;  // 2026-11-29
  return std::max<std::int64_t>(std::time(nullptr), release);
}

}  // namespace

void expect_past(std::int64_t time, const std::string& what, const std::string& advice) {
  constexpr std::int64_t hour = 3600;  // clocks differ
  if (time <= now() + hour) return;
  throw ConfigError(
      fmt::format("{} is {}, and now it is {}: a commit of the future would stay the newest, and "
                  "hide all later ones. {}",
                  what, time_text(time), time_text(now()), advice));
}

void set_origin(ImportedRun& run, const RunOptions& options, const std::string& commit,
                std::optional<std::int64_t> time) {
  run.commit = options.commit.empty() ? commit : options.commit;
  constexpr std::string_view local_changes = "-dirty";
  const bool is_same = commit.ends_with(local_changes) == run.commit.ends_with(local_changes) &&
                       (may_mean(run.commit, commit) || may_mean(commit, run.commit));
  const bool is_another = !commit.empty() && !is_same;
  if (is_another) {
    run.notes.push_back(fmt::format("{} says that commit {} was measured, and counts as commit {}",
                                    run.file, commit, run.commit));
  }
  if (run.commit.empty()) {
    throw ConfigError(
        fmt::format("{} does not say which commit was measured, and a history is one of commits. "
                    "Name its commit.",
                    run.file));
  }
  if (options.time) time = options.time;
  if (!time) {
    throw ConfigError(
        fmt::format("{} does not say when it was measured, and a history is ordered "
                    "by time. Give its time, as 2026-01-31T12:00:00Z.",
                    run.file));
  }
  run.time = *time;
  if (!options.run.empty()) run.facts["run"] = options.run;
  for (KeyedPoint& point : run.points) {
    point.point.commit = run.commit;
    point.point.time = run.time;
    point.point.ancestors = options.ancestors;
  }
}

void add_facts(ImportedRun& run, const RunOptions& options) {
  for (KeyedPoint& point : run.points) {
    overlay(point.key.axes, options.axes);
    overlay(point.key.machine, options.machine);
    overlay(point.key.environment, options.environment);
    overlay(point.key.launch, options.launch);
  }
}

void number_parts(ImportedRun& run) {
  std::map<std::string, int> seen;
  for (KeyedPoint& point : run.points) point.point.part = seen[point.key.text()]++;
}

}  // namespace dlscale::regression::history
