#include "bench/engine/speed_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {
namespace {

/// Steps of dependent multiply-adds, in several independent chains.
void compute(std::int64_t steps) {
  std::array<float, 128> chains;
  chains.fill(1);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (float& x : chains) x = 0.5F * x + 0.25F;
  }
  volatile float kept = 0;  // keeps the compiler from removing the work
  for (const float x : chains) kept = kept + x;
}

}  // namespace

ReferenceWork::ReferenceWork() {
  constexpr Seconds enough{1e-3};
  while (run() < enough) steps_ *= 2;
}

Seconds ReferenceWork::run() const {
  return timed([this] { compute(steps_); });
}

Seconds ReferenceWork::time() const {
  return std::min({run(), run(), run()});
}

SpeedSamples::SpeedSamples(backend::Communicator& communicator, std::function<Seconds()> witness)
    : communicator_(&communicator),
      witness_(std::move(witness)),
      least_(static_cast<std::size_t>(communicator.size()), std::numeric_limits<double>::max()),
      times_(least_.size()) {}

void SpeedSamples::look() {
  const double mine = witness_().si();
  std::vector<double> all(times_.size());
  communicator_->all_gather(std::as_bytes(std::span(&mine, 1)),
                            std::as_writable_bytes(std::span(all)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    least_[rank] = std::min(least_[rank], all[rank]);
    times_[rank].push_back(all[rank]);
  }
}

double SpeedSamples::slowdown(std::size_t look) const {
  double slowest = 1;
  for (std::size_t rank = 0; rank < times_.size(); ++rank) {
    slowest = std::max(slowest, times_[rank].at(look) / least_[rank]);
  }
  return slowest;
}

double SpeedSamples::slowest() const {
  double slowest = 1;
  for (std::size_t look = 0; look < count(); ++look) slowest = std::max(slowest, slowdown(look));
  return slowest;
}

void warn_of_speed(Measurement& measurement, const std::string& what) {
  measurement.warnings.push_back(fmt::format("{}. Stop other programs, or allow more time with {}.",
                                             what, option_name("wait_quiet")));
  if (measurement.status == Status::ok) measurement.reason = what;
  if (measurement.status == Status::unstable) measurement.reason += "; " + what;
  if (measurement.status == Status::ok) measurement.status = Status::unstable;
}

}  // namespace dlscale::bench
