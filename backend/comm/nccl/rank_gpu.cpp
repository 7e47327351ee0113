#include "backend/comm/nccl/rank_gpu.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {

void check_gpus(std::span<const RankGpu> gpus) {
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    if (gpus[rank].device < 0) {
      throw Unsupported(fmt::format(
          "Rank {} sees no GPU, and NCCL needs one for each rank. Start the ranks where there are "
          "GPUs, or choose another communicator (--comm).",
          rank));
    }
    const auto others = gpus.first(rank);
    const auto same = std::ranges::find(others, gpus[rank].uuid, &RankGpu::uuid);
    if (same == others.end()) continue;
    throw ConfigError(fmt::format(
        "Ranks {} and {} would share a GPU, and NCCL needs one for each rank. Start at most as "
        "many "
        "ranks on a node as it has GPUs, or show each rank its own (CUDA_VISIBLE_DEVICES).",
        same - others.begin(), rank));
  }
}

}  // namespace dlscale::backend::gpu_comm
