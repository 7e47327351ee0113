#include "backend/comm/schedule/schedule.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"
#include "backend/comm/schedule/plan.hpp"
#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/backend/comm/runnable.hpp"
#include "tests/backend/comm/trial.hpp"

/// Every schedule of core/collective, carried out between threads and between processes.
namespace dlscale::backend {
namespace {

using collective::Algorithm;
using collective::Schedule;
using collective::Settings;
using collective::Transfer;

template <class Ranks>
class ScheduleTest : public testing::Test {};
using AllRanks = testing::Types<Threads, Processes>;
TYPED_TEST_SUITE(ScheduleTest, AllRanks);

void try_out(Communicator& ranks, const Algorithm& algorithm, const Settings& settings,
             const Trial& trial) {
  Block block(trial, ranks.rank(), ranks.size());
  const auto prepared = prepare_schedule(ranks, schedule_of(algorithm, settings), block.call());
  for (int repeat = 0; repeat < 2; ++repeat) {
    block.fill();
    prepared->start();
    prepared->wait();
    SCOPED_TRACE(std::string(algorithm.name));
    block.check();
  }
}

void try_sizes(Communicator& ranks, const Algorithm& algorithm, Settings settings, ElementType type,
               Reduction op) {
  for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
    for (const std::size_t block :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{101}}) {
      settings.root = static_cast<Rank>(block) % ranks.size();
      if (!can_run(algorithm, settings)) continue;
      try_out(ranks, algorithm, settings,
              {algorithm.collective, type, op, placement, Mode::blocking, block, settings.root});
    }
  }
}

void try_settings(Communicator& ranks, const Algorithm& algorithm) {
  const bool adds = reduces(algorithm.collective);
  for (const int ranks_on_node : {1, 2}) {
    if (ranks_on_node > 1 && !algorithm.traits.two_levels) continue;
    for (const int segments : {1, 3}) {
      if (segments > 1 && !algorithm.traits.segments) continue;
      const Settings settings{
          .p = ranks.size(), .root = 0, .ranks_on_node = ranks_on_node, .segments = segments};
      try_sizes(ranks, algorithm, settings, ElementType::f32, Reduction::sum);
      try_sizes(ranks, algorithm, settings, ElementType::bf16,
                adds ? Reduction::max : Reduction::sum);
      try_sizes(ranks, algorithm, settings, ElementType::u8,
                adds ? Reduction::min : Reduction::sum);
    }
  }
}

TYPED_TEST(ScheduleTest, EveryAlgorithmGivesTheRightResult) {
  TypeParam::run([](Communicator& ranks) {
    for (const Algorithm* algorithm : family<Algorithm>().members) {
      try_settings(ranks, *algorithm);
    }
  });
}

TYPED_TEST(ScheduleTest, OneAlgorithmReducesEveryTypeByEveryOperator) {
  TypeParam::run([](Communicator& ranks) {
    const Algorithm* ring = collective::find(Collective::all_reduce, "ring");
    ASSERT_NE(ring, nullptr);
    for (const ElementType type : element_types) {
      for (const Reduction op : reductions) {
        try_sizes(ranks, *ring, {.p = ranks.size()}, type, op);
      }
    }
  });
}

TEST(Schedules, RunBetweenRanksForEveryCollective) {
  for (const Collective collective : all_collectives) {
    int runs = 0;
    for (const Algorithm* algorithm : collective::algorithms_of(collective)) {
      if (can_run(*algorithm, {.p = 4})) ++runs;
    }
    EXPECT_GE(runs, 1) << to_string(collective);
  }
}

TEST(Schedules, WithOtherNodesThanRanksAreRefused) {
  const auto alone = std::move(local_group(1).front());
  std::vector<std::byte> data(4);
  const CollectiveCall call{.collective = Collective::all_reduce,
                            .type = ElementType::f32,
                            .op = Reduction::sum,
                            .root = 0,
                            .from = data,
                            .to = data};
  const Schedule served{.ranks = 1, .chunks = 1, .rounds = {}, .helpers = 1};
  EXPECT_THROW(static_cast<void>(prepare_schedule(*alone, served, call)), Unsupported);
  const Schedule of_two{.ranks = 2, .chunks = 1, .rounds = {}};
  EXPECT_THROW(static_cast<void>(prepare_schedule(*alone, of_two, call)), std::logic_error);
}

constexpr auto add = Transfer::Action::add;
constexpr auto copy = Transfer::Action::copy;

TYPED_TEST(ScheduleTest, ParameterServersMayBeAnyNumber) {
  TypeParam::run([](Communicator& ranks) {
    const Algorithm* server = collective::find(Collective::all_reduce, "parameter_server");
    ASSERT_NE(server, nullptr);
    for (int servers = 1; servers <= ranks.size() + 2; ++servers) {
      try_sizes(ranks, *server, {.p = ranks.size(), .segments = 2, .servers = servers},
                ElementType::f32, Reduction::sum);
    }
  });
}

TEST(RoundPlans, SendAndReceiveWhereTheMessageLies) {
  // A ring of two: each hands its half on.
  const Schedule schedule{
      .ranks = 2, .chunks = 2, .rounds = {{{0, 1, 0, 1, copy}, {1, 0, 1, 1, copy}}}};
  const SlotLayout layout(schedule, Collective::all_gather, 16, 4);
  const Plan plan = plan_rounds(schedule, layout, 0);
  ASSERT_EQ(plan.rounds.size(), 1U);
  EXPECT_EQ(plan.staging, 0U);
  const RoundPlan& round = plan.rounds.front();
  EXPECT_TRUE(round.pack.empty() && round.land.empty());
  ASSERT_EQ(round.out.size(), 1U);
  EXPECT_EQ(round.out[0].offset, 0U);
  EXPECT_EQ(round.out[0].bytes, 8U);
  ASSERT_EQ(round.in.size(), 1U);
  EXPECT_EQ(round.in[0].offset, 8U);
  EXPECT_FALSE(round.in[0].staged);
}

TEST(RoundPlans, StageWhatIsStillToBeSent) {
  // Both overwrite what they send.
  const Schedule schedule{
      .ranks = 2, .chunks = 1, .rounds = {{{0, 1, 0, 1, copy}, {1, 0, 0, 1, copy}}}};
  const SlotLayout layout(schedule, Collective::all_reduce, 12, 4);
  const Plan plan = plan_rounds(schedule, layout, 1);
  EXPECT_EQ(plan.staging, 12U);
  EXPECT_TRUE(plan.rounds.at(0).in.at(0).staged);
  EXPECT_FALSE(plan.rounds.at(0).land.at(0).adds);
}

TEST(RoundPlans, SendTransfersOfOnePairAsOneMessage) {
  const Schedule schedule{
      .ranks = 2, .chunks = 4, .rounds = {{{0, 1, 0, 1, add}, {0, 1, 2, 1, copy}}}};
  const SlotLayout layout(schedule, Collective::all_reduce, 32, 4);
  const Plan sender = plan_rounds(schedule, layout, 0);
  ASSERT_EQ(sender.rounds.at(0).out.size(), 1U);
  EXPECT_EQ(sender.rounds.at(0).out[0].bytes, 16U);
  EXPECT_EQ(sender.rounds.at(0).pack.size(), 2U);
  const Plan receiver = plan_rounds(schedule, layout, 1);
  ASSERT_EQ(receiver.rounds.at(0).in.size(), 1U);
  EXPECT_EQ(receiver.rounds.at(0).in[0].bytes, 16U);
  ASSERT_EQ(receiver.rounds.at(0).land.size(), 2U);
  EXPECT_TRUE(receiver.rounds.at(0).land[0].adds);
  EXPECT_EQ(receiver.rounds.at(0).land[1].slots, 16U);
}

TEST(RoundPlans, LeaveOutEmptyMessagesAndIdleRounds) {
  // One element in two slots: the first is empty.
  const Schedule schedule{
      .ranks = 3, .chunks = 2, .rounds = {{{0, 1, 0, 1, copy}}, {{0, 1, 1, 1, copy}}}};
  const SlotLayout layout(schedule, Collective::broadcast, 4, 4);
  EXPECT_EQ(plan_rounds(schedule, layout, 0).rounds.size(), 1U);
  EXPECT_EQ(plan_rounds(schedule, layout, 1).rounds.size(), 1U);
  EXPECT_EQ(plan_rounds(schedule, layout, 2).rounds.size(), 0U);
}

TEST(Layouts, CutAMessageAsEquallyAsWholeElementsAllow) {
  const Schedule schedule{.ranks = 4, .chunks = 4};
  const SlotLayout layout(schedule, Collective::all_reduce, 5 * 8, 8);
  EXPECT_TRUE(layout.is_message());
  EXPECT_EQ(layout.size(), 40U);
  std::size_t most = 0;
  for (int slot = 0; slot < 4; ++slot) {
    EXPECT_EQ(layout.bytes(slot, 1) % 8, 0U);
    most = std::max(most, layout.bytes(slot, 1));
  }
  EXPECT_EQ(most, 16U);
}

TEST(Layouts, CutScratchAsTheMessageIs) {
  const Schedule schedule{
      .ranks = 2, .chunks = 2, .rounds = {{{0, 1, 0, 1, copy, 2}}}, .scratch = 4};
  const SlotLayout layout(schedule, Collective::all_reduce, 3 * 4, 4);
  EXPECT_FALSE(layout.is_message());
  EXPECT_EQ(layout.size(), 36U);
  for (const int slot : {0, 2, 4}) {
    EXPECT_EQ(layout.offset(slot), 12U * static_cast<std::size_t>(slot) / 2);
    EXPECT_EQ(layout.bytes(slot, 1), 4U);
    EXPECT_EQ(layout.bytes(slot + 1, 1), 8U);
  }
}

TEST(Layouts, FillUpSlotsThatMustBeEquallyLong) {
  const Schedule schedule{.ranks = 2, .chunks = 4, .rounds = {}, .scratch = 2};
  const SlotLayout layout(schedule, Collective::all_to_all, 2 * 3 * 4, 4);
  EXPECT_FALSE(layout.is_message());
  EXPECT_EQ(layout.block_bytes(), 12U);
  EXPECT_EQ(layout.slots_of_block(), 2);
  for (int slot = 0; slot < 6; ++slot) EXPECT_EQ(layout.bytes(slot, 1), 8U);
}

TEST(BusiestRank, OfARingSendsTwiceAllButAShare) {
  const Algorithm* ring = collective::find(Collective::all_reduce, "ring");
  ASSERT_NE(ring, nullptr);
  for (const int p : {2, 3, 7}) {
    const Work work = busiest_rank(ring->schedule({.p = p}), Bytes(8e6), 4);
    EXPECT_NEAR(work.bytes.si(), 2.0 * (p - 1) / p * 8e6, 1e-6);
    EXPECT_NEAR(work.flops.si(), 1.0 * (p - 1) / p * 2e6, 1e-6);
  }
}

/// Of such a collective on p ranks by such an algorithm, in messages.
double busiest_link(Collective collective, const char* algorithm, int p) {
  const Algorithm* found = collective::find(collective, algorithm);
  EXPECT_NE(found, nullptr) << algorithm;
  if (found == nullptr) return 0;
  return busiest_rank(found->schedule({.p = p}), Bytes(8e6), 4).bytes.si() / 8e6;
}

TEST(BusiestRank, IsTheRootWhereItReceivesMoreThanAnybodySends) {
  for (const int p : {2, 3, 4, 5, 8}) {
    const double steps = std::ceil(std::log2(p));
    EXPECT_NEAR(busiest_link(Collective::reduce, "linear", p), p - 1, 1e-12) << p;
    EXPECT_NEAR(busiest_link(Collective::reduce, "binomial", p), steps, 1e-12) << p;
    EXPECT_NEAR(busiest_link(Collective::broadcast, "binomial", p), steps, 1e-12) << p;
  }
}

}  // namespace
}  // namespace dlscale::backend
