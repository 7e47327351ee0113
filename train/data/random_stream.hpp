#pragma once
#include <cstdint>

#include "train/data/random.hpp"

namespace dlscale::train {

/// Random numbers that are the same with every compiler and standard library, unlike the std::
/// distributions. SplitMix64   [Steele, Lea & Flood, OOPSLA 2014]
class RandomStream {
 public:
  explicit constexpr RandomStream(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    const std::uint64_t bits = mix(state_);
    state_ += 0x9e3779b97f4a7c15U;
    return bits;
  }
  /// Uniform in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [low, high).
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0 … n - 1; 1 ≤ n ≤ 2^53.
  constexpr std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t state_;
};

}  // namespace dlscale::train
