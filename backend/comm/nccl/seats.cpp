#include "backend/comm/nccl/seats.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

std::string describe(std::span<const Seat> seats, Rank rank) {
  const Card& card = seats[static_cast<std::size_t>(rank)].card;
  return fmt::format("rank {} (process {} on node {})", rank, card.process, card.host.data());
}

GpuId gpu_of(std::span<const Seat> seats, const std::vector<Place>& places, Rank rank) {
  const auto r = static_cast<std::size_t>(rank);
  return seats[r].gpus.at(static_cast<std::size_t>(places[r].device));
}

/// The rank of the same node, before `end`, that has `gpu`; -1 if none has.
Rank holder(std::span<const Seat> seats, const std::vector<Place>& places, const GpuId& gpu,
            Rank end) {
  for (Rank rank = 0; rank < end; ++rank) {
    const bool neighbour = seats[static_cast<std::size_t>(rank)].card.node ==
                           seats[static_cast<std::size_t>(end)].card.node;
    if (neighbour && gpu_of(seats, places, rank) == gpu) return rank;
  }
  return -1;
}

void expect_gpus(std::span<const Seat> seats) {
  for (std::size_t r = 0; r < seats.size(); ++r) {
    if (seats[r].visible > 0) continue;
    throw Unsupported(fmt::format(
        "{} has no GPU: {}. NCCL moves data between GPUs, one of each rank's own. Start the ranks "
        "where there are GPUs, or choose another communicator.",
        describe(seats, static_cast<Rank>(r)), seats[r].reason.data()));
  }
}

[[noreturn]] void throw_crowded(std::span<const Seat> seats, const std::vector<Place>& places,
                                Rank rank) {
  const Seat& seat = seats[static_cast<std::size_t>(rank)];
  const Rank other = holder(seats, places, seat.gpus.front(), rank);
  const std::string gpus =
      seat.visible == 1 ? "the only GPU" : fmt::format("all {} GPUs", seat.visible);
  throw ConfigError(fmt::format(
      "{} would share a GPU with {}: {} it sees {} taken by the ranks before it, and each needs "
      "one of its own. Start one rank a GPU, or show each rank its own by CUDA_VISIBLE_DEVICES.",
      describe(seats, rank), describe(seats, other), gpus, seat.visible == 1 ? "is" : "are"));
}

int free_device(std::span<const Seat> seats, const std::vector<Place>& places, Rank rank) {
  const Seat& seat = seats[static_cast<std::size_t>(rank)];
  for (int device = 0; device < seat.visible; ++device) {
    if (holder(seats, places, seat.gpus.at(static_cast<std::size_t>(device)), rank) < 0) {
      return device;
    }
  }
  throw_crowded(seats, places, rank);
}

}  // namespace

std::vector<Place> assign(std::span<const Seat> seats) {
  expect_gpus(seats);
  std::vector<Place> places(seats.size());
  for (std::size_t r = 0; r < seats.size(); ++r) {
    const auto neighbour = [&](const Seat& other) { return other.card.node == seats[r].card.node; };
    places[r].device = free_device(seats, places, static_cast<Rank>(r));
    places[r].node_rank = static_cast<int>(std::ranges::count_if(seats.first(r), neighbour));
    places[r].node_size = static_cast<int>(std::ranges::count_if(seats, neighbour));
  }
  return places;
}

bool all_see_gpus(std::span<const Seat> seats) {
  return std::ranges::all_of(seats, [](const Seat& seat) { return seat.visible > 0; });
}

}  // namespace dlscale::backend::gpu_comm
