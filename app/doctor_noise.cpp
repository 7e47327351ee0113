#include "app/doctor_noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "app/cpu_ticks.hpp"
#include "backend/host/preemptions.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

using Clock = std::chrono::steady_clock;
using report::percent;
using report::signed_percent;

constexpr double probe_s = 1;

double share_stolen(const std::optional<CpuTicks>& before, const std::optional<CpuTicks>& after) {
  if (!before || !after || after->all <= before->all) return 0;
  return (after->stolen - before->stolen) / (after->all - before->all);
}

/// The interval of the median ratio: what ten pairs or more can tell apart at best.
Finding like_from_like(const NoiseProbe& probe) {
  std::vector<double> logarithms;
  for (const CanaryPair& pair : probe.pairs) {
    logarithms.push_back(std::log(pair.second.si() / pair.first.si()));
  }
  const Summary summary = summarize(logarithms);
  Finding finding{.name = "like beside like",
                  .found = fmt::format("{} pairs: {} [{}, {}]", probe.pairs.size(),
                                       signed_percent(std::expm1(summary.median)),
                                       signed_percent(std::expm1(summary.ci95_low)),
                                       signed_percent(std::expm1(summary.ci95_high)))};
  const double margin = std::log1p(canary_margin);
  const bool shifted = summary.ci95_low > margin || summary.ci95_high < -margin;
  const bool wide = (summary.ci95_high - summary.ci95_low) / 2 > margin;
  if (!shifted && !wide) return finding;
  finding.state = FindingState::warning;
  finding.advice = fmt::format(
      "The same work differs from itself, so that changes of {} are not told here in so short a "
      "time. See to the warnings above; dlscale noise measures what can be told.",
      percent(canary_margin));
  return finding;
}

/// How far the slowest tenth is above the fastest: what a median is drawn from.
constexpr double bearable_spread = 0.05;

Finding spread(const NoiseProbe& probe) {
  std::vector<double> times;
  for (const CanaryPair& pair : probe.pairs) {
    times.insert(times.end(), {pair.first.si(), pair.second.si()});
  }
  const double least = *std::ranges::min_element(times);
  const double over = quantile(times, 0.9) / least - 1;
  Finding finding{.name = "spread",
                  .found = fmt::format("the slowest tenth {} above the fastest", percent(over))};
  if (over <= bearable_spread) return finding;
  finding.state = FindingState::warning;
  finding.advice =
      "The core's speed changes while it works: by its clock, by who shares the core, or by a "
      "hypervisor. See to governor, turbo, hardware threads and load above, or measure with "
      "--wait-quiet SECONDS.";
  return finding;
}

/// A scheduler's tick or a short service now and then is usual.
constexpr double bearable_preemptions_per_s = 10;

Finding taken_away(const NoiseProbe& probe) {
  Finding finding{.name = "core taken away",
                  .found = fmt::format("{} times in {:.2f} s", probe.preemptions, probe.time.si())};
  if (probe.preemptions <= bearable_preemptions_per_s * probe.time.si()) return finding;
  finding.state = FindingState::warning;
  finding.advice =
      "Other threads ran on the core meanwhile. End them, or bind ranks to cores that are free "
      "(taskset -c LIST dlscale ...).";
  return finding;
}

/// A hundredth of a second is what the kernel counts by; of a second one such is nothing to tell.
constexpr double bearable_steal = 0.01;

Finding steal(const NoiseProbe& probe) {
  Finding finding{.name = "steal meanwhile", .found = percent(probe.stolen)};
  if (probe.stolen <= bearable_steal) return finding;
  finding.state = FindingState::warning;
  finding.advice =
      "A hypervisor gave the cores to other machines while this one had work. Measure at another "
      "time, or on a machine of one's own.";
  return finding;
}

}  // namespace

NoiseProbe probe_noise() {
  NoiseProbe probe;
  const auto before = read_cpu_ticks("/");
  const auto preempted = backend::preemptions();
  const auto start = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  do {
    const std::vector<CanaryPair> more = run_canary();
    probe.pairs.insert(probe.pairs.end(), more.begin(), more.end());
  } while (spent() < probe_s);
  probe.time = Seconds(spent());
  probe.preemptions = static_cast<int>(backend::preemptions() - preempted);
  probe.stolen = share_stolen(before, read_cpu_ticks("/"));
  return probe;
}

std::vector<Finding> judge_noise(const NoiseProbe& probe) {
  EXPECT(probe.pairs.size() >= canary_pairs);
  return {like_from_like(probe), spread(probe), taken_away(probe), steal(probe)};
}

}  // namespace dlscale::app
