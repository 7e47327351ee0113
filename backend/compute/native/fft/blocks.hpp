#pragma once
#include <cstdint>

#include "backend/compute/native/fft/problem.hpp"

namespace dlscale::backend::native_device::spectral {

/// Spectra of a block of planes: at every frequency two matrices, re over im, of rows × lanes.
struct SpectraShape {
  std::int64_t rows;
  std::int64_t lanes;  ///< a multiple of the batch of the transform

  [[nodiscard]] std::int64_t im() const { return rows * lanes; }  ///< elements from re to im
  /// Elements from frequency to frequency. A cache line more than the matrices: at a power of two
  /// apart, all frequencies that a transform writes would share the sets of the cache.
  [[nodiscard]] std::int64_t stride() const { return 2 * rows * lanes + 16; }
};

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// How much of Â (q × i), B̂ (q × j) and the result (i × j) is in memory at once, in planes.
struct Blocks {
  std::int64_t q, i, j;
  std::int64_t batch;  ///< of the transform: lanes are rounded up to it

  [[nodiscard]] SpectraShape a() const { return {q, round_up(i, batch)}; }
  [[nodiscard]] SpectraShape b() const { return {q, round_up(j, batch)}; }
  [[nodiscard]] SpectraShape result() const { return {i, round_up(j, batch)}; }
  /// Floats that the three take at one frequency.
  [[nodiscard]] std::int64_t floats() const {
    return a().stride() + b().stride() + result().stride();
  }
};

/// The blocks that need the least time by count of elements moved and planes transformed, among
/// those whose spectra fit into `limit_bytes`, of which there is at least one from 128 MiB up.
Blocks choose_blocks(const Problem& problem, std::int64_t batch, std::int64_t limit_bytes);

}  // namespace dlscale::backend::native_device::spectral
