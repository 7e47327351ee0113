#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace dlscale::backend::gpu_comm {

/// The GPU of a rank. A plain type for an all-gather.
struct RankGpu {
  std::int32_t device = -1;  ///< index among the GPUs visible to the rank; -1: it sees none
  std::array<std::uint8_t, 16> uuid{};  ///< from the driver: the same in every process
};

/// Local rank i takes visible GPU i modulo their number; -1 if none is visible.
/// CUDA_VISIBLE_DEVICES, which launchers may set for each rank, decides which are visible.
inline int device_of(int local_rank, int visible) {
  return visible == 0 ? -1 : local_rank % visible;
}

/// Throws, on every rank alike, if NCCL cannot join ranks with these GPUs: Unsupported for a rank
/// without one, ConfigError for two ranks on the same one.
void check_gpus(std::span<const RankGpu> gpus);

}  // namespace dlscale::backend::gpu_comm
