#include "bench/engine/speed_witness.hpp"

#include <algorithm>
#include <array>

#include "bench/engine/timed.hpp"

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

SpeedWitness::SpeedWitness() {
  constexpr Seconds enough{1e-3};
  while (run() < enough) steps_ *= 2;
}

Seconds SpeedWitness::run() const {
  return timed([this] { compute(steps_); });
}

Seconds SpeedWitness::time() const {
  return std::min({run(), run(), run()});
}

}  // namespace dlscale::bench
