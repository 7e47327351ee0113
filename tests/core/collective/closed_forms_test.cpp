#include <gtest/gtest.h>

#include <stdexcept>
#include <string_view>

#include "tests/core/collective/executor.hpp"

/// The closed form of every algorithm, against the simulated time of its schedule, against bounds
/// and against published values.
namespace dlscale::collective {
namespace {

using test::settings_of;
using test::text;

constexpr Link inter{Seconds(1.5e-6), SecondsPerByte(1e-9), SecondsPerByte(3e-11)};
constexpr Link intra{Seconds(4e-7), SecondsPerByte(2e-10), SecondsPerByte(5e-11)};

/// Algorithms of one level know but one link.
Links links_for(const Algorithm& algorithm) {
  return {inter, algorithm.traits.two_levels ? intra : inter};
}

class EveryClosedForm : public testing::TestWithParam<const Algorithm*> {};

TEST_P(EveryClosedForm, IsTheTimeOfTheScheduleOrABoundOnIt) {
  const Algorithm& algorithm = *GetParam();
  const Links links = links_for(algorithm);
  for (const int p : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24, 32, 33}) {
    for (const Settings& settings : settings_of(algorithm, p)) {
      const Schedule schedule = algorithm.schedule(settings);
      for (const double bytes : {4.0, 1e5, 1e8}) {
        const double form = algorithm.cost(links, settings, Bytes(bytes)).si();
        const double simulated = time(schedule, links, settings.ranks_on_node, Bytes(bytes)).si();
        if (algorithm.inexact.empty()) {
          EXPECT_NEAR(form, simulated, 1e-12 * simulated) << text(settings) << ", " << bytes;
        } else {
          EXPECT_LE(simulated, form * (1 + 1e-12)) << text(settings) << ", " << bytes;
          EXPECT_GE(simulated, form / 2 * (1 - 1e-12)) << text(settings) << ", " << bytes;
        }
      }
    }
  }
}

/// The bytes, in units of m, that some rank must send or receive through its ports whatever the
/// algorithm: reading off what it lacks, and for sums what the others lack of it.
double least_bytes(Collective collective, int p) {
  const double share = (p - 1.0) / p;
  switch (collective) {
    case Collective::all_reduce:
      return 2 * share;  // nccl-tests, doc/PERFORMANCE.md
    case Collective::reduce:
    case Collective::broadcast:
      return 1;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return share;
  }
  return 0;
}

TEST_P(EveryClosedForm, NeverBeatsTheBandwidthBound) {
  const Algorithm& algorithm = *GetParam();
  const Link link{Seconds(), SecondsPerByte(1e-9), SecondsPerByte()};
  for (int p = 2; p <= 64; ++p) {
    for (const Settings& settings : settings_of(algorithm, p)) {
      const Schedule schedule = algorithm.schedule(settings);
      if (schedule.helpers > 0) continue;  // others add, and the bound is between ranks alone
      const double least = 1e-3 * least_bytes(algorithm.collective, p) / schedule.rank_ports;
      const Seconds time = algorithm.cost({link, link}, settings, Bytes(1e6));
      EXPECT_GE(time.si(), least * (1 - 1e-12)) << text(settings);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Family, EveryClosedForm,
                         testing::ValuesIn(family<Algorithm>().members.begin(),
                                           family<Algorithm>().members.end()),
                         test::name_of);

TEST(CollectiveCosts, OfTreesOfThreeChildrenAreThePublishedFormWhereTheyAreFull) {
  const Link link{Seconds(1), SecondsPerByte(1e-6), {}};
  const auto rounds = [&](std::string_view name, int p) {
    return find(Collective::broadcast, name)->cost({link, link}, {.p = p}, Bytes(1e6)).si() / 2;
  };
  for (const int levels : {1, 2, 3, 9}) {  // ⌈log_k p⌉ (k-1)
    EXPECT_DOUBLE_EQ(rounds("knomial", 1 << (2 * levels)), 3 * levels);
  }
  EXPECT_DOUBLE_EQ(rounds("knomial", 65537), 3 * 8 + 1);
  // 2, 4 … second children below one another, on the last level or before it.
  EXPECT_DOUBLE_EQ(rounds("binary_tree", 3), 2);
  EXPECT_DOUBLE_EQ(rounds("binary_tree", (1 << 16) - 1), 2 * 15);
  EXPECT_DOUBLE_EQ(rounds("binary_tree", 1 << 16), 2 * 15);
}

TEST(CollectiveCosts, HaveTheLinearParametersOfModel21) {
  // Ring on 16: a = 30 α, b = 30/16 β + 15/16 γ.
  const Link link{Seconds(1e-5), SecondsPerByte(2e-10), SecondsPerByte(4e-11)};
  const auto ring = [&](Bytes m) {
    return find(Collective::all_reduce, "ring")->cost({link, link}, {.p = 16}, m).si();
  };
  EXPECT_DOUBLE_EQ(ring(Bytes()), 30e-5);
  EXPECT_NEAR(ring(Bytes(1e9)) - ring(Bytes()), (30 * 2e-10 + 15 * 4e-11) / 16 * 1e9, 1e-12);
}

TEST(CollectiveCosts, OfOneServerAreTwoMessagesOfEachRank) {
  // (3.18) T = 2 N m β; with segments, pulling hides behind pushing: N m β (1 + 1/k).
  const Link link{Seconds(), SecondsPerByte(1e-9), SecondsPerByte()};
  const auto seconds = [&](const Settings& settings) {
    const Algorithm* server = find(Collective::all_reduce, "parameter_server");
    return server->cost({link, link}, settings, Bytes(1e6)).si();
  };
  EXPECT_NEAR(seconds({.p = 5}), 2 * 5 * 1e-3, 1e-12);
  EXPECT_NEAR(seconds({.p = 5, .segments = 10}), 5 * 1e-3 * 1.1, 1e-12);
  // (3.19) on N servers: 2 m β; on fewer, N/S of that; on more, no less.
  EXPECT_NEAR(seconds({.p = 6, .servers = 6}), 2e-3, 1e-12);
  EXPECT_NEAR(seconds({.p = 6, .servers = 2}), 3 * 2e-3, 1e-12);
  EXPECT_NEAR(seconds({.p = 6, .servers = 12}), 2e-3, 1e-12);
}

TEST(CollectiveCosts, OfSwitchesGrowWithTheirLevelsAlone) {
  const Link link{Seconds(1e-6), SecondsPerByte(1e-9), SecondsPerByte()};
  const auto seconds = [&](int p, int segments, double bytes) {
    const Settings settings{.p = p, .segments = segments, .down_links = 16};
    return find(Collective::all_reduce, "in_network")
        ->cost({link, link}, settings, Bytes(bytes))
        .si();
  };
  // (3.21) 2 h hops; 17 … 256 ranks have two levels of switches.
  EXPECT_NEAR(seconds(16, 1, 0), 2e-6, 1e-18);
  EXPECT_NEAR(seconds(17, 1, 0), 4e-6, 1e-18);
  EXPECT_NEAR(seconds(256, 1, 0), 4e-6, 1e-18);
  EXPECT_NEAR(seconds(257, 1, 0), 6e-6, 1e-18);
  // (3.22) in a stream of segments each rank sends and receives the message once: m β.
  EXPECT_NEAR(seconds(256, 1000, 1e9), 1.0, 0.01);
}

TEST(CollectiveCosts, OfDoubleTreesTendToTwoMessages) {
  // 2 m β + m γ, as NCCL counts its trees (3.5).
  const Link link{Seconds(), SecondsPerByte(1e-9), SecondsPerByte(1e-10)};
  const Settings settings{.p = 13, .segments = 400};
  const Algorithm* tree = find(Collective::all_reduce, "double_binary_tree");
  const double limit = 2e-3 + 1e-4;
  EXPECT_NEAR(tree->cost({link, link}, settings, Bytes(1e6)).si(), limit, 0.02 * limit);
  EXPECT_NEAR(time(tree->schedule(settings), link, Bytes(1e6)).si(), limit, 0.02 * limit);
}

TEST(ScheduleTimes, CountMessagesNotTransfers) {
  Schedule schedule{3, 4, {{{0, 1, 0, 1}, {0, 1, 2, 1}, {1, 1, 0, 1, {}, 3}}}};
  const Link link{Seconds(1), SecondsPerByte(1), SecondsPerByte(10)};
  EXPECT_DOUBLE_EQ(time(schedule, link, Bytes(4)).si(), 1 + 2);
  schedule.rounds[0][1].action = Transfer::Action::add;  // of one slot
  EXPECT_DOUBLE_EQ(time(schedule, link, Bytes(4)).si(), 1 + 2 + 10);
}

TEST(ScheduleTimes, AddUpWhatOnePortTakesAndNotWhatSeveralDo) {
  Schedule schedule{3, 1, {{{0, 2, 0, 1}, {1, 2, 0, 1}}}};
  const Link link{Seconds(1), SecondsPerByte(1), SecondsPerByte()};
  EXPECT_DOUBLE_EQ(time(schedule, link, Bytes(2)).si(), 2 * 3);
  schedule.rank_ports = 2;
  EXPECT_DOUBLE_EQ(time(schedule, link, Bytes(2)).si(), 3);
  schedule.rounds[0] = {{0, 1, 0, 1}, {2, 1, 0, 1}, {3, 1, 0, 1}};
  schedule.helpers = 1;
  EXPECT_THROW(static_cast<void>(time(schedule, link, Bytes(2))), std::logic_error);
}

TEST(ScheduleTimes, TakeTheLinkOfTheNodes) {
  const Links links{{Seconds(10), {}, {}}, {Seconds(1), {}, {}}};
  const auto seconds = [&](Rank from, Rank to) {
    Schedule schedule{4, 1, {{{from, to, 0, 1}}}};
    schedule.helpers = 1;
    return time(schedule, links, 2, Bytes(1)).si();
  };
  EXPECT_EQ(seconds(0, 1), 1);
  EXPECT_EQ(seconds(1, 2), 10);
  EXPECT_EQ(seconds(3, 2), 1);
  EXPECT_EQ(seconds(3, 4), 10);  // a helper is on no node
}

}  // namespace
}  // namespace dlscale::collective
