#pragma once
#include <cstddef>
#include <cstdint>

namespace dlscale::backend::cuda {

/// Where pieces of scratch and state begin.
constexpr std::size_t scratch_alignment = 256;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}
/// The first such place at or after `scratch`.
inline std::byte* first_aligned(std::byte* scratch) {
  const auto address = reinterpret_cast<std::uintptr_t>(scratch);
  return scratch + (aligned(address) - address);
}

}  // namespace dlscale::backend::cuda
