#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/network/step.hpp"
#include "tests/backend/compute/near_device.hpp"
#include "tests/bench/comm/between_devices.hpp"
#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "tests/train/engine/worker.hpp"
#include "train/exchange/exchange.hpp"
#include "train/exchange/gradient_reducer.hpp"
#include "train/sent_messages.hpp"

namespace dlscale::train {
namespace {

/// A mark that a device is past.
std::unique_ptr<const backend::Mark> passed() {
  return open_backend("reference")->mark();
}

TEST(GradientExchange, AddsUpEveryBucketOverTheRanks) {
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [ranks](backend::Communicator& communicator) {
      std::vector<float> gradients(100, static_cast<float>(communicator.rank() + 1));
      GradientExchange exchange(communicator.duplicate(),
                                std::make_unique<AllReduceReducer>(Staging()),
                                backend::WaitPolicy::sleep);
      for (int round = 0; round < 3; ++round) {
        std::ranges::fill(gradients, static_cast<float>(communicator.rank() + 1));
        exchange.post(0, std::span(gradients).first(60), passed());
        exchange.post(1, std::span(gradients).subspan(60), passed());
        const auto transfers = exchange.finish();
        ASSERT_EQ(transfers.size(), 2U);
        EXPECT_EQ(transfers[0].bucket, 0U);
        EXPECT_EQ(transfers[1].bucket, 1U);
        EXPECT_LE(transfers[0].posted, transfers[0].start);
        EXPECT_LE(transfers[0].start, transfers[0].end);
        EXPECT_LE(transfers[0].end, transfers[1].start);
        const float sum = 0.5F * static_cast<float>(ranks * (ranks + 1));
        for (const float x : gradients) EXPECT_EQ(x, sum);
      }
    });
  }
}

TEST(GradientExchange, WithNothingPostedHasNothingToFinish) {
  GradientExchange exchange(std::move(backend::local_group(1).front()),
                            std::make_unique<AllReduceReducer>(Staging()),
                            backend::WaitPolicy::spin);
  EXPECT_TRUE(exchange.finish().empty());
}

TEST(GradientExchange, BringsAFailureOfItsThreadToTheCaller) {
  std::vector<float> gradients(8);
  GradientExchange exchange(std::make_unique<FailingCommunicator>(1),
                            std::make_unique<AllReduceReducer>(Staging()),
                            backend::WaitPolicy::sleep);
  for (std::size_t i = 0; i < 3; ++i) exchange.post(i, gradients, passed());
  EXPECT_THROW(exchange.finish(), LibraryError);
  EXPECT_THROW(exchange.finish(), LibraryError);
}

TEST(GradientExchange, EndsWithMessagesStillWaiting) {
  std::vector<float> gradients(8);
  for (int i = 0; i < 20; ++i) {
    GradientExchange exchange(std::move(backend::local_group(1).front()),
                              std::make_unique<AllReduceReducer>(Staging()),
                              backend::WaitPolicy::sleep);
    for (std::size_t k = 0; k < 10; ++k) exchange.post(k, gradients, passed());
  }
}

// Reducers of gradients that lie on a device, over a communicator that takes its memory.

using backend::Collective;
using testing::Each;
using testing::ElementsAre;

constexpr int ranks = 3;

/// A device that copies nothing between its memory and the host's.
class NoCopies : public backend::NearDevice {
 public:
  [[nodiscard]] std::unique_ptr<backend::CopyStream> copy_stream() override {
    ADD_FAILURE() << "memory that a communicator takes is not to be copied";
    return NearDevice::copy_stream();
  }
};

/// The gradients of a rank on its device: element i of rank r is i + r.
std::vector<float> gradients_of(Rank rank, std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), static_cast<float>(rank));
  return values;
}

std::vector<float> sums(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(3 * i + 3);
  return values;
}

TEST(ReducersOfADevice, ScatterAndGatherWhereTheGradientsLie) {
  on_ranks(ranks, [](backend::Communicator& communicator) {
    NoCopies device;
    bench::BetweenDevices between(communicator);
    std::vector<float> gradients = gradients_of(communicator.rank(), 103);
    const std::span all(gradients);
    ShardedReducer reducer(CollectiveMemory(device, between, all), 3, communicator.size());
    const std::vector<std::span<float>> messages{all.first(100), all.subspan(100, 2),
                                                 all.subspan(102)};
    for (int iteration = 0; iteration < 2; ++iteration) {
      between.prepared.clear();
      std::ranges::copy(gradients_of(communicator.rank(), 103), gradients.begin());
      for (std::size_t i = 0; i < 3; ++i) reducer.reduce(between, i, messages[i]);
      for (std::size_t i = 0; i < 3; ++i) reducer.finish(between, i, messages[i]);
      EXPECT_EQ(gradients, sums(103));
      // 99 elements are equal blocks; one of the first message, and both others, are not.
      EXPECT_THAT(between.prepared, ElementsAre(Collective::reduce_scatter, Collective::all_reduce,
                                                Collective::all_reduce, Collective::all_reduce,
                                                Collective::all_gather));
    }
  });
}

TEST(ReducersOfADevice, ReduceToTheOwnerWhereTheGradientsLie) {
  on_ranks(ranks, [](backend::Communicator& communicator) {
    NoCopies device;
    bench::BetweenDevices between(communicator);
    std::vector<float> gradients = gradients_of(communicator.rank(), 20);
    ParameterServerReducer reducer(CollectiveMemory(device, between, gradients), {2, 0});
    reducer.reduce(between, 0, std::span(gradients).first(10));
    reducer.reduce(between, 1, std::span(gradients).subspan(10));
    EXPECT_THAT(between.prepared, Each(Collective::reduce));
    const std::vector<float> expected = sums(20);
    if (communicator.rank() == 2) {
      EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 10, gradients.begin()));
    }
    if (communicator.rank() == 0) {
      EXPECT_TRUE(std::equal(expected.begin() + 10, expected.end(), gradients.begin() + 10));
    }
  });
}

TEST(MemoryOfCollectives, IsTheHostsWhereNobodyTakesTheDevices) {
  on_ranks(ranks, [](backend::Communicator& communicator) {
    backend::NearDevice device;
    std::vector<float> gradients(4);
    bench::BetweenDevices between(communicator);
    EXPECT_EQ(CollectiveMemory(device, communicator, gradients).place(), backend::DataPlace::host);
    EXPECT_EQ(CollectiveMemory(device, between, gradients).place(), backend::DataPlace::device);
    // A processor has no memory but the host's.
    const auto processor = open_backend("reference");
    EXPECT_EQ(CollectiveMemory(*processor, between, gradients).place(), backend::DataPlace::host);
  });
}

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
