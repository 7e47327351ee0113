#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/comm/nccl/exchange.hpp"
#include "backend/comm/nccl/preconditions.hpp"
#include "backend/comm/nccl/result.hpp"
#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

constexpr int ranks = 4;
constexpr Rank rank = 3;

/// A call of 240 bytes of a message, of which the last of four ranks has both sides.
class Sides {
 public:
  [[nodiscard]] CollectiveCall call(Collective collective, ElementType type) {
    const backend::Sides bytes = sides(collective, 240, ranks);
    return {.collective = collective,
            .type = type,
            .root = 2,
            .from = std::span(from_).first(bytes.from),
            .to = std::span(to_).first(bytes.to),
            .place = DataPlace::device};
  }

 private:
  std::vector<std::byte> from_ = std::vector<std::byte>(240);
  std::vector<std::byte> to_ = std::vector<std::byte>(240);
};

TEST(ExchangesOfCalls, CountElementsAsNcclDoes) {
  Sides of_a_rank;
  for (const auto& [collective, count] :
       {std::pair(Collective::all_reduce, 120U), std::pair(Collective::reduce, 120U),
        std::pair(Collective::broadcast, 240U), std::pair(Collective::all_gather, 30U),
        std::pair(Collective::reduce_scatter, 30U), std::pair(Collective::all_to_all, 30U)}) {
    const Exchange exchange =
        exchange_of(of_a_rank.call(collective, ElementType::bf16), rank, ranks);
    EXPECT_EQ(exchange.collective, collective);
    EXPECT_EQ(exchange.count, count) << to_string(collective);
    EXPECT_EQ(exchange.root, 2);
    const bool moves_bytes = collective == Collective::broadcast;
    EXPECT_EQ(exchange.element, moves_bytes ? ElementType::u8 : ElementType::bf16);
  }
}

TEST(ExchangesOfCalls, KeepEveryElementAndOperator) {
  Sides of_a_rank;
  for (const ElementType type : element_types) {
    for (const Reduction op : reductions) {
      CollectiveCall call = of_a_rank.call(Collective::all_reduce, type);
      call.op = op;
      const Exchange exchange = exchange_of(call, rank, ranks);
      EXPECT_EQ(exchange.element, type);
      EXPECT_EQ(exchange.op, op);
      EXPECT_EQ(exchange.count, 240 / size_of(type));
    }
  }
}

TEST(ExchangesOfCalls, InPlaceAreRefusedWhereNcclCannot) {
  std::vector<std::byte> memory(240);
  const auto in_place = [&](Collective collective) {
    const backend::Sides bytes = sides(collective, 240, ranks);
    const bool gathers = collective == Collective::all_gather;
    return exchange_of({.collective = collective,
                        .from = std::span(memory).subspan(gathers ? 180 : 0, bytes.from),
                        .to = std::span(memory).first(bytes.to)},
                       rank, ranks);
  };
  for (const Collective collective : {Collective::all_reduce, Collective::reduce,
                                      Collective::broadcast, Collective::all_gather}) {
    EXPECT_NO_THROW(in_place(collective));
  }
  EXPECT_THROW(in_place(Collective::reduce_scatter), Unsupported);
  EXPECT_THROW(in_place(Collective::all_to_all), Unsupported);
}

TEST(ExchangesOfCalls, OfARankThatIsNotTheRootOfAReduceHaveItsElements) {
  std::vector<std::byte> memory(240);
  const CollectiveCall call{.collective = Collective::reduce, .root = 0, .from = memory};
  EXPECT_EQ(exchange_of(call, rank, ranks).count, 60U);
}

/// The reason that each of three ranks gets for work that rank `failing` cannot do.
std::vector<std::string> obstacles(Rank failing) {
  std::vector<std::string> heard(3);
  run_on_threads(3, [&](Communicator& ranks) {
    const Rank rank = ranks.rank();
    heard[static_cast<std::size_t>(rank)] = obstacle_on_any(ranks, [=] {
      if (rank == failing) throw ConfigError("The GPU has no memory left.");
    });
    ranks.barrier();  // all are in step
  });
  return heard;
}

TEST(ObstacleOnAny, IsHeardOfByAllRanks) {
  for (Rank failing = 0; failing < 3; ++failing) {
    const std::vector<std::string> heard = obstacles(failing);
    for (Rank rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(heard[static_cast<std::size_t>(rank)],
                rank == failing ? "The GPU has no memory left." : "another rank cannot ask.");
    }
  }
}

TEST(ObstacleOnAny, IsNoneWhereAllCan) {
  EXPECT_EQ(obstacles(3), std::vector<std::string>(3));
}

TEST(Queues, OfTwoLinksMayNotBeOne) {
  EXPECT_THROW(expect_queues_for_two_links(2, "1"), ConfigError);
  EXPECT_NO_THROW(expect_queues_for_two_links(1, "1"));  // nobody to wait for
  for (const char* value : {static_cast<const char*>(nullptr), "", "2", "8", "16"}) {
    EXPECT_NO_THROW(expect_queues_for_two_links(8, value));
  }
}

RankGpu gpu(int device, std::uint8_t number) {
  RankGpu gpu{.device = device};
  gpu.uuid[3] = number;
  return gpu;
}

template <class Problem>
std::string problem(const std::vector<RankGpu>& gpus) {
  try {
    check_gpus(gpus);
  } catch (const Problem& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceOf, IsTheLocalRankModuloTheVisibleGpus) {
  EXPECT_EQ(device_of(0, 4), 0);
  EXPECT_EQ(device_of(3, 4), 3);
  EXPECT_EQ(device_of(5, 4), 1);
  EXPECT_EQ(device_of(2, 1), 0) << "a launcher that shows each rank its own";
  EXPECT_EQ(device_of(0, 0), -1);
}

TEST(RankGpus, MayHaveOneNumberOnSeveralNodes) {
  EXPECT_NO_THROW(check_gpus(std::vector{gpu(0, 1), gpu(1, 2), gpu(0, 3), gpu(0, 4)}));
}

TEST(RankGpus, AreRefusedIfTwoRanksShareOne) {
  const std::string text = problem<ConfigError>({gpu(0, 1), gpu(1, 2), gpu(0, 1)});
  EXPECT_TRUE(text.starts_with("Ranks 0 and 2 would share a GPU")) << text;
}

TEST(RankGpus, AreRefusedIfARankSeesNone) {
  const std::string text = problem<Unsupported>({gpu(0, 1), gpu(-1, 0), gpu(-1, 0)});
  EXPECT_TRUE(text.starts_with("Rank 1 sees no GPU")) << text;
}

std::string words_of(int code, const std::string& detail = "") {
  return error_of({"ncclAllReduce", code, "its text", detail, 3}).what();
}

TEST(NcclErrors, NameCallCodeRankAndWords) {
  const LibraryError error = error_of({"ncclAllReduce", 6, "remote process exited", "peer 5", 3});
  EXPECT_EQ(error.code(), ExitCode::wrong_result);
  const std::string said = error.what();
  EXPECT_EQ(
      said.find("ncclAllReduce failed on rank 3 with code 6 (remote process exited: peer 5)."), 0U)
      << said;
}

TEST(NcclErrors, AdviseDifferentlyOnEachCode) {
  std::set<std::string> advice;
  for (int code = 1; code <= 6; ++code) {
    std::string said = words_of(code);
    said.erase(0, said.find(").") + 2);
    EXPECT_GT(said.size(), 80U) << said;
    advice.insert(said);
  }
  EXPECT_EQ(advice.size(), 6U);
}

TEST(NcclErrors, AreOneLineWhateverNcclSays) {
  const std::string said = words_of(2, "Call to connect failed :\n  Connection refused.\n");
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_NE(said.find("Call to connect failed : Connection refused)."), std::string::npos) << said;
}

TEST(NcclErrors, OfUnknownCodesStillNameThem) {
  EXPECT_EQ(words_of(42).find("ncclAllReduce failed on rank 3 with code 42 (its text). NCCL_DEBUG"),
            0U)
      << words_of(42);
}

TEST(NcclErrors, ThatLookLikeADeathAreTheSystemsAndTheRemotes) {
  for (int code = 0; code <= 8; ++code) EXPECT_EQ(may_be_a_death(code), code == 2 || code == 6);
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
