#include "backend/comm/nccl/preconditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {

void check_gpus(std::span<const RankGpu> gpus) {
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    if (gpus[rank].device < 0) {
      throw Unsupported(fmt::format(
          "Rank {} sees no GPU, and NCCL needs one for each rank. Start the ranks where there are "
          "GPUs, or choose another communicator.",
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

void expect_queues_for_two_links(int ranks, const char* value) {
  if (ranks == 1 || value == nullptr || std::string_view(value) != "1") return;
  throw ConfigError(
      "CUDA_DEVICE_MAX_CONNECTIONS is 1, so that all that a rank gives its GPU is in one queue: "
      "messages beside computing could wait for each other for ever. Unset it; the "
      "schedule sequential needs only one.");
}

std::string obstacle_on_any(Communicator& over, const std::function<void()>& work) {
  std::string obstacle;
  double failed = 0;
  try {
    work();
  } catch (const std::exception& error) {
    failed = 1;
    obstacle = error.what();
  }
  over.all_reduce(std::span(&failed, 1), Reduction::max);
  if (failed > 0 && obstacle.empty()) obstacle = "another rank cannot ask.";
  return obstacle;
}

}  // namespace dlscale::backend::gpu_comm
