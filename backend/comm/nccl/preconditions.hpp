#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "backend/comm/communicator.hpp"

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

/// Throws ConfigError if a second link between `ranks` ranks cannot work beside the first. With
/// CUDA_DEVICE_MAX_CONNECTIONS=1 the streams of a GPU share one queue. Work of one link then waits
/// behind work of the other, and the peers may have enqueued them in the opposite order. `value` is
/// the value of the variable, or null.
void expect_queues_for_two_links(int ranks, const char* value);

/// Runs the local `work` of each rank on all ranks and reports to all whether every rank succeeded.
/// So no rank begins a collective that another one cannot join. Returns nothing on success, else
/// why this rank failed, or that another one did. Collective; one small all-reduce, which throws if
/// it fails.
std::string obstacle_on_any(Communicator& over, const std::function<void()>& work);

}  // namespace dlscale::backend::gpu_comm
