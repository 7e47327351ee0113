#pragma once
#include <cstddef>
#include <cstdint>

namespace dlscale::backend::cuda {

/// Alignment of pieces of scratch and state, in bytes.
constexpr std::size_t scratch_alignment = 256;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}
/// The first aligned address at or after `scratch`.
inline std::byte* first_aligned(std::byte* scratch) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch);
  return scratch + (aligned(address) - address);
}

}  // namespace dlscale::backend::cuda
