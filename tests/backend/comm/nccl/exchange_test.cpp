#include "backend/comm/nccl/exchange.hpp"

#include <set>

#include <gtest/gtest.h>

#include "core/error.hpp"

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

}  // namespace
}  // namespace dlscale::backend::gpu_comm
