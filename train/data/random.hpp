#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace dlscale::train {

/// A bijection of 64-bit numbers that spreads every bit over all: the output function of SplitMix64
/// [Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"].
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// A number that depends on all its arguments and their order.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a) ^ b);
}

/// Uniform in (0, 1): the middle of one of 2^53 intervals.
constexpr double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53;
}

/// Element `counter` of the standard normal sequence `key`, by Box and Muller. It depends on the
/// counter alone, so a sequence does not depend on the order in which it is filled.
inline double standard_normal(std::uint64_t key, std::uint64_t counter) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(mix(key, 2 * counter))));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(mix(key, 2 * counter + 1)));
}

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
