#include "model/goodput/checkpoints.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"

namespace dlscale::model::goodput {
namespace {

void expect_job(const CheckpointedJob& job) {
  EXPECT(std::isfinite(job.failures_per_s) && job.failures_per_s >= 0);
  for (const Seconds time : {job.stall, job.write, job.restart}) {
    EXPECT(std::isfinite(time.si()) && time.si() >= 0);
  }
}

}  // namespace

double useful_share(const CheckpointedJob& job, Seconds every) {
  expect_job(job);
  EXPECT(every.si() > 0);
  const double rate = job.failures_per_s;
  if (rate == 0) {
    return std::isinf(every.si()) ? 1 : every / (every + job.stall);
  }
  const double lost = std::exp(-rate * (job.restart + job.write).si());
  const double segments = std::expm1(rate * (every + job.stall).si());
  const double work = rate * every.si();
  if (std::isinf(segments)) return 0;
  return std::min(1.0, work / segments * lost);
}

Seconds young_interval(const CheckpointedJob& job) {
  expect_job(job);
  EXPECT(job.failures_per_s > 0);
  return Seconds(std::sqrt(2 * job.stall.si() / job.failures_per_s));
}

Seconds daly_interval(const CheckpointedJob& job) {
  expect_job(job);
  EXPECT(job.failures_per_s > 0);
  const double half = job.stall.si() * job.failures_per_s / 2;
  if (half >= 1) return Seconds(1 / job.failures_per_s);
  return young_interval(job) * (1 + std::sqrt(half) / 3 + half / 9) - job.stall;
}

/// Newton's method on f(x) = x - 1 + e^(-x - d), x = λ τ and d = λ δ, which is convex and rises: it
/// falls to the root from the first step on.
Seconds best_interval(const CheckpointedJob& job) {
  expect_job(job);
  if (job.failures_per_s == 0) return Seconds(std::numeric_limits<double>::infinity());
  if (job.stall == Seconds()) return {};
  const double stall = job.failures_per_s * job.stall.si();
  double at = std::clamp(job.failures_per_s * daly_interval(job).si(), 1e-300, 1.0);
  for (int step = 0; step < 60; ++step) {
    const double value = at + std::expm1(-(at + stall));
    const double next = at - value / -std::expm1(-(at + stall));
    const bool arrived = std::abs(next - at) <= 1e-14 * at;
    at = next;
    if (arrived) break;
  }
  return Seconds(at / job.failures_per_s);
}

}  // namespace dlscale::model::goodput
