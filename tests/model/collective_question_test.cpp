// Questions about messages alone.
#include "model/collectives/collective_question.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/collective/schedule.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

using collective::Collective;

Machine summit() {
  return nominal_machine(load_cluster("summit"));
}

CollectiveQuestion question(Collective collective, int ranks, std::vector<std::string> algorithms) {
  return {collective, {ranks}, {Bytes(4e3), Bytes(64e6)}, std::move(algorithms)};
}

TEST(CollectiveQuestion, HasTheTimesThatPredictionsOfTrainingHave) {
  const Machine machine = summit();
  for (const std::string word : {"library", "ring", "chain", "rabenseifner", "nccl", "sharp"}) {
    const CollectiveAnswer found = answer(machine, question(Collective::all_reduce, 96, {word}));
    Machine as_asked = machine;
    if (word != by_library) as_asked.all_reduce_override = word;
    Notes notes;
    const MessageTimes times(as_asked, {96, machine.cluster.devices_per_node}, Schedule::sequential,
                             notes);
    ASSERT_EQ(found.times.size(), 2U) << word;
    for (const CollectiveTime& each : found.times) {
      const Estimate<Seconds> expected = times.time(each.size);
      EXPECT_EQ(each.time.value, expected.value) << word;
      EXPECT_LT(each.time.low, expected.value) << word;
      EXPECT_GT(each.time.high, expected.value) << word;
      EXPECT_EQ(each.nodes, 16) << word;
    }
  }
}

TEST(CollectiveQuestion, TellsAlgorithmsApart) {
  const CollectiveAnswer found =
      answer(summit(), question(Collective::all_reduce, 96, {"ring", "hierarchical", "nccl"}));
  ASSERT_EQ(found.times.size(), 6U);
  for (const std::size_t size : {0, 3}) {
    EXPECT_NE(found.times[size].time.value, found.times[size + 1].time.value);
    EXPECT_NE(found.times[size].time.value, found.times[size + 2].time.value);
  }
}

TEST(CollectiveQuestion, AnswersEveryAlgorithmOfEveryCollective) {
  const Machine machine = summit();
  for (const Collective collective : collective::collectives) {
    const auto words = single_algorithms(machine, collective);
    const CollectiveAnswer found = answer(machine, question(collective, 12, words));
    EXPECT_TRUE(found.left_out.empty()) << to_string(collective);
    ASSERT_EQ(found.times.size(), 2 * words.size()) << to_string(collective);
    for (const CollectiveTime& each : found.times) {
      EXPECT_GT(each.time.value, Seconds()) << each.algorithm;
      EXPECT_LE(each.time.low, each.time.value) << each.algorithm;
      EXPECT_GE(each.time.high, each.time.value) << each.algorithm;
    }
  }
}

TEST(CollectiveQuestion, TakesTheClosedFormOnOneNode) {
  const Machine machine = summit();
  const Placement node{6, 6};
  const SheetLink within = sheet_link_within(machine, node);
  const collective::Link link{within.start, within.per_byte, {}};
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_to_all, Collective::broadcast}) {
    for (const collective::Algorithm* one : collective::algorithms_of(collective)) {
      if (one->traits.segments) continue;
      const CollectiveAnswer found =
          answer(machine, question(collective, 6, {std::string(one->name)}));
      const Seconds expected = one->cost({link, {}}, {.p = 6}, Bytes(64e6));
      EXPECT_NEAR(found.times.back().time.value.si(), expected.si(), 1e-9 * expected.si())
          << one->name;
    }
  }
}

TEST(CollectiveQuestion, LeavesOutWhatANumberOfRanksRefuses) {
  const Machine machine = summit();
  const CollectiveQuestion asked{
      Collective::all_reduce, {7, 12}, {Bytes(1e6)}, {"ring", "hierarchical_leaders"}};
  const CollectiveAnswer found = answer(machine, asked);
  EXPECT_EQ(found.times.size(), 3U);
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out.front().ranks, 7);
  test::expect_contains(found.left_out.front().why, "needs as many ranks on each node");
}

TEST(CollectiveQuestion, RefusesUnknownWordsAndASingleRank) {
  const Machine machine = summit();
  test::expect_contains(
      test::config_error([&] {
        static_cast<void>(answer(machine, question(Collective::broadcast, 12, {"rign"})));
      }),
      "\"rign\" is not an algorithm of broadcast");
  test::expect_contains(
      test::config_error([&] {
        static_cast<void>(answer(machine, question(Collective::all_reduce, 1, {"ring"})));
      }),
      "one rank sends no message");
  test::expect_contains(
      test::config_error([&] {
        static_cast<void>(
            answer(machine, question(Collective::all_reduce, most_message_ranks + 1, {"ring"})));
      }),
      "1000001 ranks are more than the 1000000");
  test::expect_contains(
      test::config_error([&] {
        static_cast<void>(answer(machine, question(Collective::all_reduce, 6, {"sharp"})));
      }),
      "on one node, which has no switches");
}

}  // namespace
}  // namespace dlscale::model
