#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/backend/compute/near_device.hpp"
#include "tests/bench/comm/between_devices.hpp"
#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/exchange/exchange.hpp"
#include "train/exchange/gradient_reducer.hpp"

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
                                backend::Waiting::sleep);
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
                            std::make_unique<AllReduceReducer>(Staging()), backend::Waiting::spin);
  EXPECT_TRUE(exchange.finish().empty());
}

TEST(GradientExchange, BringsAFailureOfItsThreadToTheCaller) {
  std::vector<float> gradients(8);
  GradientExchange exchange(std::make_unique<FailingCommunicator>(1),
                            std::make_unique<AllReduceReducer>(Staging()), backend::Waiting::sleep);
  for (std::size_t i = 0; i < 3; ++i) exchange.post(i, gradients, passed());
  EXPECT_THROW(exchange.finish(), LibraryError);
  EXPECT_THROW(exchange.finish(), LibraryError);
}

TEST(GradientExchange, EndsWithMessagesStillWaiting) {
  std::vector<float> gradients(8);
  for (int i = 0; i < 20; ++i) {
    GradientExchange exchange(std::move(backend::local_group(1).front()),
                              std::make_unique<AllReduceReducer>(Staging()),
                              backend::Waiting::sleep);
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
  [[nodiscard]] std::unique_ptr<backend::Courier> courier() override {
    ADD_FAILURE() << "memory that a communicator takes is not to be copied";
    return NearDevice::courier();
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

}  // namespace
}  // namespace dlscale::train
