#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/comm/watchdog/roster.hpp"

namespace dlscale::backend::gpu_comm {

/// GPUs of one node that a rank tells of; the largest nodes sold have 16.
inline constexpr int most_gpus = 32;

/// The UUID that the driver gives a GPU: the same in every process of the node.
using GpuId = std::array<std::uint8_t, 16>;

/// What a rank sees from where it sits. Plain bytes, for an all-gather.
struct Seat {
  Card card;
  std::int32_t visible = 0;  ///< GPUs that this process may use
  std::array<GpuId, most_gpus> gpus{};
  std::array<char, 192> reason{};  ///< why none is visible
};

/// What a rank was given.
struct Place {
  int device = 0;  ///< of those visible to the rank
  int node_rank = 0;
  int node_size = 1;
};

/// Gives every rank the first GPU that it sees and no rank before it on the node has: the GPU of
/// its place on the node where all see the same ones. A pure function of what all ranks know, so
/// that all come to the same places or throw the same error: Unsupported for a rank without a GPU,
/// ConfigError for more ranks than GPUs.
std::vector<Place> assign(std::span<const Seat> seats);

/// Whether every rank sees a GPU.
bool all_see_gpus(std::span<const Seat> seats);

}  // namespace dlscale::backend::gpu_comm
