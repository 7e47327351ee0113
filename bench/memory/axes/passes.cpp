#include "bench/memory/axes/passes.hpp"

#include <algorithm>
#include <span>

#include "backend/comm/together.hpp"

namespace dlscale::bench {
namespace {

constexpr int tries = 3;
constexpr int most_passes = 1 << 30;

Seconds fastest_sample(const std::function<Seconds(int)>& pass, int passes) {
  Seconds fastest = passes * pass(passes);
  for (int i = 1; i < tries; ++i) fastest = std::min(fastest, passes * pass(passes));
  return fastest;
}

}  // namespace

int passes_for(backend::Communicator& communicator, const std::function<Seconds(int)>& pass) {
  int passes = 1;
  together(communicator, [&] {
    while (passes < most_passes && fastest_sample(pass, passes) < least_sample) passes *= 2;
  });
  double most = passes;
  communicator.all_reduce(std::span(&most, 1), backend::Reduction::max);
  return static_cast<int>(most);
}

}  // namespace dlscale::bench
