#include "backend/host/core_clock.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

constexpr int chains = 3;
constexpr int rounds = 1000;
constexpr int additions = 16;  // per round: the loop itself runs beside them

/// Hides the value, so that the compiler can neither predict it nor merge additions. Uses registers
/// only: some processors execute additions of constants before they reach the adders.
[[gnu::always_inline]] inline void opaque(std::uint64_t& value) {
  asm volatile("" : "+r"(value));
}

double chain_seconds() {
  std::uint64_t sum = 1;
  std::uint64_t term = 3;
  opaque(term);
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (int i = 0; i < additions; ++i) {
      sum += term;
      opaque(sum);
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

}  // namespace

double core_clock_hertz() {
  double fastest = chain_seconds();
  for (int chain = 1; chain < chains; ++chain) fastest = std::min(fastest, chain_seconds());
  return rounds * additions / fastest;
}

long preemptions() {  // NOLINT(google-runtime-int)
  rusage usage{};
  EXPECT(::getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nivcsw;
}

}  // namespace dlscale::backend
