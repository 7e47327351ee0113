#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/compute/cuda/runtime/host_device_code.hpp"

/// Words of shared memory that the threads of a warp read in a probe of its banks.
namespace dlscale::backend::cuda {

inline constexpr std::uint32_t warp_lanes = 32;
/// Word w is in bank w mod 32 [CUDA C++ Programming Guide, Shared Memory, 5.x and later].
inline constexpr std::uint32_t memory_banks = 32;
inline constexpr std::uint32_t most_bank_stride = 64;
inline constexpr std::uint32_t bank_words = warp_lanes * most_bank_stride;

/// A cycle through the words 0, stride, …, 31 stride: each word leads to the next and the last to
/// the first. The threads of a warp start `lane` steps apart, so at every step they read all of
/// these words.
struct BankRing {
  std::uint32_t stride;

  /// The word that a lane reads in `step`, counted from 0.
  [[nodiscard]] DLSCALE_HOST_DEVICE std::uint32_t word(std::uint32_t lane,
                                                       std::uint32_t step) const {
    return (lane + step) % warp_lanes * stride;
  }
};

/// Number of words of one bank that the threads of a warp read at once, which is the number of
/// turns needed.
inline int conflict_ways(std::uint32_t stride) {
  std::array<int, memory_banks> words{};
  for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
    ++words[BankRing{stride}.word(lane, 0) % memory_banks];
  }
  return *std::max_element(words.begin(), words.end());
}

}  // namespace dlscale::backend::cuda
