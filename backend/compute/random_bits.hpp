#pragma once
#include <cstdint>

namespace dlscale::backend {

/// 64 random bits for each place of each stream. Counter-based, for data and choices that are the
/// same in every run.
constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t place) {
  std::uint64_t z = (stream * 0x9E3779B97F4A7C15U + place + 1) * 0xD1342543DE82EF95U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Elements that dropout keeps, as a function of the seed and of the element's index in plain NCHW
/// order. So all devices, layouts and numbers of threads agree, and backward can recompute the
/// mask. Counter-based: the finaliser of SplitMix64 [Steele, Lea, Flood 2014] over a Weyl sequence.
/// constexpr, so that GPU code may call it.
class DropoutMask {
 public:
  /// `probability` of dropping an element, in [0, 1).
  constexpr DropoutMask(double probability, std::uint64_t seed)
      : start_(mix(seed + weyl)),
        threshold_(static_cast<std::uint32_t>(probability * 4294967296.0)),
        scale_(static_cast<float>(1 / (1 - probability))) {}

  /// The mask of the same probability and another seed.
  [[nodiscard]] constexpr DropoutMask with_seed(std::uint64_t seed) const {
    DropoutMask other = *this;
    other.start_ = mix(seed + weyl);
    return other;
  }

  /// Factor of the element: 0, or 1 / (1 - probability).
  [[nodiscard]] constexpr float factor(std::uint64_t index) const {
    const auto draw = static_cast<std::uint32_t>(mix(start_ + index * weyl) >> 32);
    return draw < threshold_ ? 0.0F : scale_;
  }

 private:
  static constexpr std::uint64_t weyl = 0x9E3779B97F4A7C15U;
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint64_t start_;
  std::uint32_t threshold_;
  float scale_;
};

}  // namespace dlscale::backend
