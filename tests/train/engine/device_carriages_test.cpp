// Carriages of gradients that lie on a device, over a communicator that takes its memory.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/compute/near_device.hpp"
#include "tests/bench/comm/between_devices.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/exchange/carriages.hpp"

namespace dlscale::train {
namespace {

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

TEST(CarriagesOfADevice, ScatterAndGatherWhereTheGradientsLie) {
  on_ranks(ranks, [](backend::Communicator& communicator) {
    NoCopies device;
    bench::BetweenDevices between(communicator);
    std::vector<float> gradients = gradients_of(communicator.rank(), 103);
    const std::span all(gradients);
    Carriage carriage =
        by_scattered_sum(CollectiveMemory(device, between, all), 3, communicator.size());
    const std::vector<std::span<float>> messages{all.first(100), all.subspan(100, 2),
                                                 all.subspan(102)};
    for (int iteration = 0; iteration < 2; ++iteration) {
      between.prepared.clear();
      std::ranges::copy(gradients_of(communicator.rank(), 103), gradients.begin());
      for (std::size_t i = 0; i < 3; ++i) carriage.first(between, i, messages[i]);
      for (std::size_t i = 0; i < 3; ++i) carriage.second(between, i, messages[i]);
      EXPECT_EQ(gradients, sums(103));
      // 99 elements are equal blocks; one of the first message, and both others, are not.
      EXPECT_THAT(between.prepared, ElementsAre(Collective::reduce_scatter, Collective::all_reduce,
                                                Collective::all_reduce, Collective::all_reduce,
                                                Collective::all_gather));
    }
  });
}

TEST(CarriagesOfADevice, ReduceToTheOwnerWhereTheGradientsLie) {
  on_ranks(ranks, [](backend::Communicator& communicator) {
    NoCopies device;
    bench::BetweenDevices between(communicator);
    std::vector<float> gradients = gradients_of(communicator.rank(), 20);
    Carriage carriage = by_reduce(CollectiveMemory(device, between, gradients), {2, 0});
    carriage.first(between, 0, std::span(gradients).first(10));
    carriage.first(between, 1, std::span(gradients).subspan(10));
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
