#include "train/sent_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "core/network/step.hpp"
#include "tests/train/engine/worker.hpp"

namespace dlscale::train {
namespace {

using std::chrono::milliseconds;

Transfer transfer(Instant posted, Instant start, Instant end, std::size_t bytes) {
  return {.bytes = bytes, .posted = posted, .start = start, .end = end};
}

TEST(MessageLog, TellsTimesFromTheBeginningOfTheIterationInTheOrderOfTheirStarts) {
  const Instant began = std::chrono::steady_clock::now();
  const auto at = [began](int ms) { return began + milliseconds(ms); };
  std::vector<Transfer> transfers{transfer(at(10), at(40), at(70), 400),
                                  transfer(at(15), at(20), at(40), 800)};
  transfers[1].kind = backend::Collective::broadcast;
  transfers[1].root = 2;
  transfers[0].under_way = 1;
  MessageLog log;
  log.begin(began, at(10));
  transfers[0].bucket = 1;
  transfers[0].buckets = 2;
  log.add(transfers, std::vector<std::size_t>{4, 1, 2});
  const auto iterations = log.take();
  ASSERT_EQ(iterations.size(), 1U);
  const std::vector<SentMessage>& sent = iterations.front();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].kind, backend::Collective::broadcast);
  EXPECT_EQ(sent[0].bytes, 800U);
  EXPECT_EQ(sent[0].root, 2);
  EXPECT_EQ(sent[0].under_way, 0U);
  EXPECT_EQ(sent[1].root, std::nullopt);
  EXPECT_EQ(sent[1].under_way, 1U);
  EXPECT_EQ(sent[0].layers, 4U);
  EXPECT_EQ(sent[1].layers, 1U + 2U);
  EXPECT_DOUBLE_EQ(sent[0].posted.si(), 0.015);
  EXPECT_DOUBLE_EQ(sent[0].wait.si(), 0.005);
  EXPECT_DOUBLE_EQ(sent[0].time.si(), 0.02);
  EXPECT_EQ(sent[1].kind, backend::Collective::all_reduce);
  EXPECT_DOUBLE_EQ(sent[1].wait.si(), 0.03);
  EXPECT_TRUE(log.take().empty());
}

TEST(MessageLog, CountsAMessageInTheIterationWhoseGradientsItCarries) {
  const Instant began = std::chrono::steady_clock::now();
  const auto at = [began](int ms) { return began + milliseconds(ms); };
  MessageLog log;
  log.begin(at(0), at(5));
  const std::vector<std::size_t> layers{1};
  log.add(std::vector{transfer(at(-5), at(1), at(2), 4), transfer(at(6), at(7), at(8), 8)}, layers);
  log.begin(at(10), at(15));
  log.add(std::vector{transfer(at(15), at(16), at(17), 16), transfer(at(11), at(12), at(13), 12)},
          layers);
  const auto iterations = log.take();
  ASSERT_EQ(iterations.size(), 2U);
  ASSERT_EQ(iterations[0].size(), 2U);  // and not what was sent before
  EXPECT_EQ(iterations[0][1].bytes, 12U);
  EXPECT_DOUBLE_EQ(iterations[0][1].posted.si(), 0.011);
  EXPECT_DOUBLE_EQ(iterations[0][1].wait.si(), 0.001);
  ASSERT_EQ(iterations[1].size(), 1U);
  EXPECT_EQ(iterations[1][0].bytes, 16U);
  EXPECT_DOUBLE_EQ(iterations[1][0].posted.si(), 0.005);
}

std::size_t layers_with_parameters(const Network& network) {
  return static_cast<std::size_t>(std::ranges::count_if(
      network.layers(), [](const Layer& layer) { return layer.parameter_count() > 0; }));
}

/// What rank 0 sent in three iterations of the network, if that was recorded.
std::vector<std::vector<SentMessage>> sent_under(Schedule schedule, int ranks, bool recorded) {
  std::vector<std::vector<SentMessage>> sent;
  on_ranks(ranks, [&](backend::Communicator& communicator) {
    TrainOptions options = with(schedule);
    options.record_messages = recorded;
    Worker worker(branched_network(), communicator, 2, options);
    for (int i = 0; i < 3; ++i) worker.trainer->iterate();
    worker.trainer->settle();
    const auto mine = worker.trainer->take_messages();
    EXPECT_TRUE(worker.trainer->take_messages().empty());
    if (communicator.rank() == 0) sent = mine;
  });
  return sent;
}

std::size_t bytes_of(const std::vector<SentMessage>& messages) {
  return std::accumulate(
      messages.begin(), messages.end(), std::size_t{0},
      [](std::size_t sum, const SentMessage& message) { return sum + message.bytes; });
}

TEST(Trainer, TellsWhatItSentInEachIteration) {
  const Network network = branched_network();
  const std::size_t gradients = sizeof(float) * static_cast<std::size_t>(network.parameter_count());
  // Each tensor, of a layer two at most, begins at a multiple of 128 B.
  const std::size_t most = gradients + std::size_t{256} * network.layers().size();
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free, Schedule::bucketed}) {
    for (const int ranks : {2, 3}) {
      const auto sent = sent_under(schedule, ranks, true);
      ASSERT_EQ(sent.size(), 3U) << schedule_name(schedule);
      for (const auto& messages : sent) {
        EXPECT_EQ(messages.size(), gradient_buckets(network, schedule).size());
        EXPECT_GE(bytes_of(messages), gradients);
        EXPECT_LT(bytes_of(messages), most);
        std::size_t layers = 0;
        for (const SentMessage& message : messages) layers += message.layers;
        EXPECT_EQ(layers, layers_with_parameters(network));
        Seconds end;
        for (const SentMessage& message : messages) {
          EXPECT_GE((message.posted + message.wait - end).si(), -1e-9);  // one after the other
          end = message.posted + message.wait + message.time;
        }
      }
    }
  }
}

/// By collective, in the order of their names: how many messages, over all iterations.
std::map<std::string, std::size_t> counts(const std::vector<std::vector<SentMessage>>& sent) {
  std::map<std::string, std::size_t> counted;
  for (const auto& messages : sent) {
    for (const SentMessage& message : messages) ++counted[std::string(to_string(message.kind))];
  }
  return counted;
}

TEST(Trainer, TellsEveryMessageOfSchedulesThatOverlapTheNextForward) {
  const std::size_t buckets =
      gradient_buckets(branched_network(), Schedule::reduce_scatter_overlap).size();
  const auto gathered = sent_under(Schedule::reduce_scatter_overlap, 3, true);
  ASSERT_EQ(gathered.size(), 3U);
  std::map<std::string, std::size_t> counted = counts(gathered);
  EXPECT_EQ(counted["all_gather"], 3 * buckets);
  EXPECT_EQ(counted["reduce_scatter"], 3 * buckets);
  for (const auto& messages : gathered) {
    for (const SentMessage& message : messages) {
      // What is no equal blocks travels by itself.
      const bool rest = message.kind == backend::Collective::all_reduce;
      EXPECT_EQ(rest, message.bytes < 3 * sizeof(float));
      EXPECT_EQ(rest, message.bytes % (3 * sizeof(float)) != 0);
    }
  }
  const auto urgent = sent_under(Schedule::priority, 2, true);
  ASSERT_EQ(urgent.size(), 3U);
  for (const auto& messages : urgent) {
    EXPECT_GE(messages.size(), gradient_buckets(branched_network(), Schedule::priority).size());
    EXPECT_EQ(bytes_of(messages), bytes_of(urgent.front()));
  }
}

TEST(Trainer, TellsOfPacksAllTheirBytes) {
  const auto alone = sent_under(Schedule::wait_free, 2, true);
  for (const auto& messages : sent_under(Schedule::horovod, 2, true)) {
    EXPECT_FALSE(messages.empty());
    EXPECT_GE(bytes_of(messages), bytes_of(alone.front()));  // with what lies between layers
  }
}

TEST(Trainer, TellsNothingOfMessagesUnlessTold) {
  EXPECT_TRUE(sent_under(Schedule::wait_free, 2, false).empty());
}

TEST(Trainer, OfOneRankTellsThatNothingWasSent) {
  const auto sent = sent_under(Schedule::wait_free, 1, true);
  ASSERT_EQ(sent.size(), 3U);
  for (const auto& messages : sent) EXPECT_TRUE(messages.empty());
}

}  // namespace
}  // namespace dlscale::train
