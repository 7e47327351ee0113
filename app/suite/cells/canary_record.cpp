#include "app/suite/cells/canary_record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/system/durable.hpp"
#include "core/system/environment.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

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

CanaryRecord::CanaryRecord(fs::path out, bool quiet)
    : out_(std::move(out)),
      quiet_(quiet),
      started_(fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))),
      before_(run_canary()) {
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
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    text.append(std::istreambuf_iterator<char>(stream), {});
  }
  return text;
}

}  // namespace dlscale::app
