#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
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

Footprint of(Collective collective, Placement placement = Placement::out_of_place) {
  return footprint(
      {.collective = collective, .element = Element::bf16, .placement = placement, .count = 100},
      rank, ranks);
}

TEST(Exchanges, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Collective collective : collectives) names.insert(name(collective));
  for (const Element element : elements) names.insert(name(element));
  for (const Operator op : operators) names.insert(name(op));
  EXPECT_EQ(names.size(), collectives.size() + elements.size() + operators.size());
  EXPECT_EQ(name(Collective::send_receive), "send_receive");
  EXPECT_EQ(name(Element::i32), "i32");
  EXPECT_EQ(name(Operator::average), "average");
}

TEST(Exchanges, CountTheBytesOfTheirElements) {
  EXPECT_EQ(element_bytes(Element::f32), 4U);
  EXPECT_EQ(element_bytes(Element::f64), 8U);
  EXPECT_EQ(element_bytes(Element::bf16), 2U);
  EXPECT_EQ(element_bytes(Element::f16), 2U);
  EXPECT_EQ(element_bytes(Element::i32), 4U);
  EXPECT_EQ(element_bytes(Element::i64), 8U);
  EXPECT_EQ(element_bytes(Element::u8), 1U);
}

TEST(Footprints, AreWhatEachRankGivesAndTakes) {
  for (const Collective same : {Collective::all_reduce, Collective::reduce, Collective::broadcast,
                                Collective::send_receive}) {
    EXPECT_EQ(of(same).from, 200U);
    EXPECT_EQ(of(same).to, 200U);
  }
  EXPECT_EQ(of(Collective::all_gather).from, 200U);
  EXPECT_EQ(of(Collective::all_gather).to, 800U);
  EXPECT_EQ(of(Collective::reduce_scatter).from, 800U);
  EXPECT_EQ(of(Collective::reduce_scatter).to, 200U);
  EXPECT_EQ(of(Collective::all_to_all).from, 800U);
  EXPECT_EQ(of(Collective::all_to_all).to, 800U);
  EXPECT_EQ(of(Collective::send).to, 0U);
  EXPECT_EQ(of(Collective::receive).from, 0U);
}

// nccl.h: in place, sendbuff == recvbuff + rank * sendcount for all-gather, recvbuff == sendbuff +
// rank * recvcount for reduce-scatter, sendbuff == recvbuff for the others.
TEST(Footprints, InPlaceBeginWhereNcclExpects) {
  const Footprint gather = of(Collective::all_gather, Placement::in_place);
  EXPECT_EQ(gather.from_offset, 600U);
  EXPECT_EQ(gather.to_offset, 0U);
  EXPECT_EQ(gather.in_place(), 800U);
  const Footprint scatter = of(Collective::reduce_scatter, Placement::in_place);
  EXPECT_EQ(scatter.from_offset, 0U);
  EXPECT_EQ(scatter.to_offset, 600U);
  EXPECT_EQ(scatter.in_place(), 800U);
  const Footprint reduce = of(Collective::all_reduce, Placement::in_place);
  EXPECT_EQ(reduce.from_offset + reduce.to_offset, 0U);
  EXPECT_EQ(reduce.in_place(), 200U);
}

TEST(Footprints, RefuseToOverwriteInPlaceWhatIsStillToBeSent) {
  EXPECT_THROW(of(Collective::all_to_all, Placement::in_place), Unsupported);
  EXPECT_THROW(of(Collective::send_receive, Placement::in_place), Unsupported);
}

TEST(Footprints, RefuseRanksThatAreNotThere) {
  EXPECT_THROW(footprint({.peer = ranks}, rank, ranks), std::logic_error);
  EXPECT_THROW(footprint({}, ranks, ranks), std::logic_error);
}

/// A call of 240 bytes of a message, of which the last of four ranks has both sides.
class Sides {
 public:
  [[nodiscard]] CollectiveCall call(backend::Collective collective, ElementType type) {
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
  for (const backend::Collective collective : all_collectives) {
    const CollectiveCall call = of_a_rank.call(collective, ElementType::bf16);
    const Exchange exchange = exchange_of(call, rank, ranks);
    EXPECT_EQ(name(exchange.collective), to_string(collective));
    EXPECT_EQ(exchange.peer, 2);
    const Footprint bytes = footprint(exchange, rank, ranks);
    EXPECT_EQ(bytes.to, call.to.size()) << name(exchange.collective);
    if (collective == backend::Collective::broadcast) continue;
    EXPECT_EQ(exchange.element, Element::bf16);
    EXPECT_EQ(exchange.placement, Placement::out_of_place);
    EXPECT_EQ(bytes.from, call.from.size()) << name(exchange.collective);
  }
}

TEST(ExchangesOfCalls, KnowEveryElementAndOperator) {
  Sides of_a_rank;
  for (const ElementType type : element_types) {
    for (const Reduction op : reductions) {
      CollectiveCall call = of_a_rank.call(backend::Collective::all_reduce, type);
      call.op = op;
      const Exchange exchange = exchange_of(call, rank, ranks);
      EXPECT_EQ(name(exchange.element), to_string(type));
      EXPECT_EQ(name(exchange.op), to_string(op));
      EXPECT_EQ(exchange.count, 240 / size_of(type));
    }
  }
}

TEST(ExchangesOfCalls, InPlaceBeginWhereNcclExpectsOrAreRefused) {
  std::vector<std::byte> memory(240);
  const auto in_place = [&](backend::Collective collective) {
    const backend::Sides bytes = sides(collective, 240, ranks);
    const bool gathers = collective == backend::Collective::all_gather;
    return exchange_of({.collective = collective,
                        .from = std::span(memory).subspan(gathers ? 180 : 0, bytes.from),
                        .to = std::span(memory).first(bytes.to)},
                       rank, ranks);
  };
  for (const backend::Collective collective :
       {backend::Collective::all_reduce, backend::Collective::reduce,
        backend::Collective::broadcast, backend::Collective::all_gather}) {
    EXPECT_EQ(in_place(collective).placement, Placement::in_place);
  }
  EXPECT_EQ(footprint(in_place(backend::Collective::all_gather), rank, ranks).from_offset, 180U);
  EXPECT_THROW(in_place(backend::Collective::reduce_scatter), Unsupported);
  EXPECT_THROW(in_place(backend::Collective::all_to_all), Unsupported);
}

TEST(ExchangesOfCalls, OfARankThatIsNotTheRootOfAReduceTakeNothing) {
  std::vector<std::byte> memory(240);
  const CollectiveCall call{.collective = backend::Collective::reduce, .root = 0, .from = memory};
  const Exchange exchange = exchange_of(call, rank, ranks);
  EXPECT_EQ(exchange.placement, Placement::out_of_place);
  EXPECT_EQ(exchange.count, 60U);
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
