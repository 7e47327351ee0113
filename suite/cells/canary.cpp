#include "suite/cells/canary.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/system/environment.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "core/text/time_text.hpp"

namespace dlscale::suite {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// The array fits into the caches of one core, so the time shows only that core and its other
/// users.
constexpr std::size_t numbers = 4096;
constexpr int passes = 64;
constexpr int repetitions = 5;

/// Repeats x ← a x + b, which contracts to b / (1 - a), so that values stay finite and normal.
double kernel(std::vector<double>& values) {
  double sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (double& value : values) value = 0.5 * value + 1.0;
    sum += values[static_cast<std::size_t>(pass)];
  }
  return sum;
}

Seconds least_time(std::vector<double>& values) {
  double least = INFINITY;
  double sum = 0;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = Clock::now();
    sum += kernel(values);
    const double time = std::chrono::duration<double>(Clock::now() - start).count();
    least = std::min(least, time);
  }
  if (!std::isfinite(sum)) throw WrongResult("the canary's kernel does not compute what it should");
  return Seconds(least);
}

CanaryShift judge(const std::vector<double>& logarithms) {
  const Summary summary = summarize(logarithms);
  const double margin = std::log1p(canary_margin);
  return {.shift = summary.median,
          .low = summary.ci95_low,
          .high = summary.ci95_high,
          .alarm = summary.ci95_low > margin || summary.ci95_high < -margin};
}

std::string percent(double logarithm) {
  return signed_percent(std::expm1(logarithm));
}

ordered_json canary_json(const CanaryShift& verdict) {
  return {{"log_ratio", verdict.shift},
          {"ci95_low", verdict.low},
          {"ci95_high", verdict.high},
          {"alarm", verdict.alarm}};
}

ordered_json canary_json(const std::vector<CanaryPair>& pairs) {
  ordered_json seconds = ordered_json::array();
  for (const CanaryPair& pair : pairs) seconds.push_back({pair.first.si(), pair.second.si()});
  return seconds;
}

}  // namespace

std::vector<CanaryPair> run_canary() {
  std::vector<double> values(numbers, 1.0);
  (void)least_time(values);  // warms up caches and clocks
  std::vector<CanaryPair> pairs;
  for (std::size_t i = 0; i < canary_pairs; ++i) {
    const Seconds first = least_time(values);
    pairs.push_back({first, least_time(values)});
  }
  return pairs;
}

CanaryShift judge_pairs(std::span<const CanaryPair> pairs) {
  EXPECT(pairs.size() == canary_pairs);
  std::vector<double> logarithms;
  for (const CanaryPair& pair : pairs) {
    logarithms.push_back(std::log(pair.second.si() / pair.first.si()));
  }
  return judge(logarithms);
}

CanaryShift judge_drift(std::span<const CanaryPair> before, std::span<const CanaryPair> after) {
  EXPECT(before.size() == canary_pairs && after.size() == canary_pairs);
  std::vector<double> logarithms;
  for (std::size_t i = 0; i < before.size(); ++i) {
    logarithms.push_back(std::log(after[i].first.si() / before[i].first.si()));
    logarithms.push_back(std::log(after[i].second.si() / before[i].second.si()));
  }
  return judge(logarithms);
}

std::string to_text(const CanaryShift& verdict) {
  return fmt::format("the same kernel {} [{}, {}]", percent(verdict.shift), percent(verdict.low),
                     percent(verdict.high));
}

CanaryRecord::CanaryRecord(fs::path out, bool quiet)
    : out_(std::move(out)), quiet_(quiet), started_(utc_now()), before_(run_canary()) {
  const CanaryShift verdict = judge_pairs(before_);
  if (!verdict.alarm || quiet_) return;
  fmt::print(
      stderr,
      "dlscale: the canary alarms: {} beside itself, so this machine does not tell like from "
      "like now. Differences of that size are no findings.\n",
      to_text(verdict));
}

void CanaryRecord::finish() const {
  const std::vector<CanaryPair> after = run_canary();
  const CanaryShift first = judge_pairs(before_);
  const CanaryShift last = judge_pairs(after);
  const CanaryShift drift = judge_drift(before_, after);
  const bool stable = !first.alarm && !last.alarm && !drift.alarm;
  const ordered_json record{{"schema", "dlscale.canary"},
                            {"version", 1},
                            {"started", started_},
                            {"host_hash", capture_environment().host_hash},
                            {"status", stable ? "ok" : "unstable"},
                            {"margin", canary_margin},
                            {"first", canary_json(first)},
                            {"last", canary_json(last)},
                            {"drift", canary_json(drift)},
                            {"first_s", canary_json(before_)},
                            {"last_s", canary_json(after)}};
  std::string name = fmt::format("{}-{}.json", started_, ::getpid());
  std::ranges::replace(name, ':', '-');
  write_for_good(out_ / "canary" / name, record.dump() + "\n");
  if (stable || quiet_) return;
  fmt::print(
      stderr,
      "dlscale: the canary says that this machine was not stable: {} at the beginning, {} at "
      "the end, {} from the one to the other. Compare its results with care.\n",
      to_text(first), to_text(last), to_text(drift));
}

std::string canary_lines(const fs::path& out) {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(out / "canary", absent)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files) text += content_of(file);
  return text;
}

}  // namespace dlscale::suite
