#pragma once
#include <cstdint>

namespace dlscale::train {

/// Random numbers that are the same with every compiler and standard library, which std::
/// distributions are not. SplitMix64   [Steele, Lea & Flood, OOPSLA 2014]
class RandomStream {
 public:
  explicit constexpr RandomStream(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// In [low, high).
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// In 0 … n - 1; 1 ≤ n ≤ 2^53.
  constexpr std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t state_;
};

/// A seed for part `index` of what `seed` stands for; neighbours share nothing.
constexpr std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t index) {
  return RandomStream(RandomStream(seed).next() ^ (index * 0xd1342543de82ef95U + 1)).next();
}

}  // namespace dlscale::train
