#include "train/sent_messages.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <tuple>

#include "core/step.hpp"
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
  MessageLog log;
  log.add(began, transfers);
  const auto iterations = log.take();
  ASSERT_EQ(iterations.size(), 1U);
  const std::vector<SentMessage>& sent = iterations.front();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].kind, backend::Collective::broadcast);
  EXPECT_EQ(sent[0].bytes, 800U);
  EXPECT_DOUBLE_EQ(sent[0].posted.si(), 0.015);
  EXPECT_DOUBLE_EQ(sent[0].wait.si(), 0.005);
  EXPECT_DOUBLE_EQ(sent[0].time.si(), 0.02);
  EXPECT_EQ(sent[1].kind, backend::Collective::all_reduce);
  EXPECT_DOUBLE_EQ(sent[1].wait.si(), 0.03);
  EXPECT_TRUE(log.take().empty());
}

TEST(MessageLog, CountsAMessageInTheIterationThatPostedIt) {
  const Instant began = std::chrono::steady_clock::now();
  const auto at = [began](int ms) { return began + milliseconds(ms); };
  MessageLog log;
  log.add(at(0), std::vector{transfer(at(-5), at(1), at(2), 4), transfer(at(6), at(7), at(8), 8)});
  log.add(at(10),
          std::vector{transfer(at(9), at(11), at(12), 12), transfer(at(10), at(12), at(13), 16)});
  const auto iterations = log.take();
  ASSERT_EQ(iterations.size(), 2U);
  ASSERT_EQ(iterations[0].size(), 2U);  // and not what was posted before
  EXPECT_EQ(iterations[0][1].bytes, 12U);
  EXPECT_DOUBLE_EQ(iterations[0][1].posted.si(), 0.009);
  EXPECT_DOUBLE_EQ(iterations[0][1].wait.si(), 0.002);
  ASSERT_EQ(iterations[1].size(), 1U);
  EXPECT_EQ(iterations[1][0].bytes, 16U);
  EXPECT_EQ(iterations[1][0].posted, Seconds(0));
}

/// What rank 0 sent in three iterations of the network, if that was recorded.
std::vector<std::vector<SentMessage>> sent_under(Schedule schedule, int ranks, bool recorded) {
  std::vector<std::vector<SentMessage>> sent;
  on_ranks(ranks, [&](backend::Communicator& communicator) {
    TrainOptions options = with(schedule);
    options.record_messages = recorded;
    Worker worker(branched_network(), communicator, 2, options);
    for (int i = 0; i < 3; ++i) worker.trainer->iterate();
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
        Seconds end;
        for (const SentMessage& message : messages) {
          EXPECT_GE((message.posted + message.wait - end).si(), -1e-9);  // one after the other
          end = message.posted + message.wait + message.time;
        }
      }
    }
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
