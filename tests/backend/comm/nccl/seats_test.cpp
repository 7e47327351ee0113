#include "backend/comm/nccl/seats.hpp"

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

GpuId gpu(int number) {
  GpuId id{};
  id[3] = static_cast<std::uint8_t>(number);
  return id;
}

Seat seat(std::uint64_t node, const std::vector<int>& gpus) {
  Seat seat;
  seat.card.process = 4711;
  seat.card.node = node;
  std::strcpy(seat.card.host.data(), node == 1 ? "n1" : "n2");
  seat.visible = static_cast<std::int32_t>(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) seat.gpus.at(i) = gpu(gpus[i]);
  return seat;
}

std::vector<int> devices(const std::vector<Seat>& seats) {
  std::vector<int> result;
  for (const Place& place : assign(seats)) result.push_back(place.device);
  return result;
}

template <class Problem>
std::string problem(const std::vector<Seat>& seats) {
  try {
    assign(seats);
  } catch (const Problem& error) {
    return error.what();
  }
  return "no error";
}

TEST(Seats, GiveEachRankTheGpuOfItsPlaceOnTheNode) {
  const std::vector<Seat> seats = {seat(1, {1, 2}), seat(1, {1, 2}), seat(2, {1, 2}),
                                   seat(2, {1, 2})};
  EXPECT_EQ(devices(seats), (std::vector<int>{0, 1, 0, 1}));
  const std::vector<Place> places = assign(seats);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(places[rank].node_rank, static_cast<int>(rank % 2));
    EXPECT_EQ(places[rank].node_size, 2);
  }
}

TEST(Seats, CountPlacesWhereNodesTakeTurns) {
  const std::vector<Seat> seats = {seat(1, {1, 2}), seat(2, {5, 6, 7}), seat(1, {1, 2}),
                                   seat(2, {5, 6, 7}), seat(2, {5, 6, 7})};
  EXPECT_EQ(devices(seats), (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(assign(seats)[4].node_rank, 2);
  EXPECT_EQ(assign(seats)[4].node_size, 3);
}

TEST(Seats, TakeTheOnlyGpuThatALauncherShows) {
  EXPECT_EQ(devices({seat(1, {1}), seat(1, {2}), seat(1, {3})}), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(devices({seat(1, {1, 2}), seat(1, {3, 4}), seat(1, {5, 6})}),
            (std::vector<int>{0, 0, 0}));
}

TEST(Seats, TellEqualGpusOfDifferentNodesApart) {
  EXPECT_EQ(devices({seat(1, {1}), seat(2, {1})}), (std::vector<int>{0, 0}));
}

TEST(Seats, RefuseTwoRanksOnOneGpu) {
  const std::string text = problem<ConfigError>({seat(2, {1}), seat(1, {1}), seat(1, {1})});
  EXPECT_NE(text.find("rank 2 (process 4711 on node n1) would share a GPU with rank 1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("one rank a GPU"), std::string::npos) << text;
}

TEST(Seats, RefuseMoreRanksThanGpus) {
  const std::string text =
      problem<ConfigError>({seat(1, {1, 2}), seat(1, {1, 2}), seat(1, {1, 2})});
  EXPECT_NE(text.find("all 2 GPUs it sees are taken"), std::string::npos) << text;
}

TEST(Seats, NameTheFirstRankWithoutAGpuAndWhy) {
  Seat bare = seat(2, {});
  std::strcpy(bare.reason.data(), "the driver is absent");
  const std::string text = problem<Unsupported>({seat(1, {1}), bare, bare});
  EXPECT_NE(text.find("rank 1 (process 4711 on node n2) has no GPU: the driver is absent"),
            std::string::npos)
      << text;
}

TEST(Seats, AreAskedWhetherEachSeesAGpu) {
  EXPECT_TRUE(all_see_gpus(std::vector{seat(1, {1}), seat(2, {1, 2})}));
  EXPECT_FALSE(all_see_gpus(std::vector{seat(1, {1}), seat(2, {})}));
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
