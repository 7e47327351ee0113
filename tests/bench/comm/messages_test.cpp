#include "bench/comm/messages.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/comm/rotating_buffers.hpp"
#include "core/error.hpp"
#include "core/network.hpp"
#include "core/step.hpp"

namespace dlscale::bench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using Sizes = std::vector<std::int64_t>;

TEST(MessageSizes, PowersReachFromOneNumberTo64MiB) {
  const Sizes sizes = message_sizes({"powers"}, {});
  EXPECT_EQ(sizes.size(), 25U);
  EXPECT_EQ(sizes.front(), 4);
  EXPECT_EQ(sizes.back(), 64 << 20);
}

TEST(MessageSizes, NeighboursDifferByOneNumber) {
  const Sizes sizes = message_sizes({"neighbours"}, {});
  EXPECT_THAT(sizes, Contains((1 << 20) - 4));
  EXPECT_THAT(sizes, Contains((1 << 20) + 4));
  EXPECT_THAT(sizes, Not(Contains(1 << 20)));
  EXPECT_THAT(sizes, Not(Contains(0)));
}

TEST(MessageSizes, AreSortedAndEachThereOnce) {
  const Sizes sizes = message_sizes({"powers", "neighbours", "8 B", "4KiB"}, {});
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  EXPECT_EQ(std::adjacent_find(sizes.begin(), sizes.end()), sizes.end());
}

TEST(MessageSizes, TakeWhatIsWritten) {
  EXPECT_THAT(message_sizes({"1 MiB", "4B", "1.5 KiB"}, {}), ElementsAre(4, 1536, 1 << 20));
}

TEST(MessageSizes, HoldEveryGradientOfANetwork) {
  const Network network = load_network("googlenet");
  const Sizes sizes = message_sizes({"gradients"}, {"googlenet"});
  std::int64_t most = 0;
  for (const Schedule schedule : {Schedule::wait_free, Schedule::bucketed}) {
    std::int64_t sum = 0;
    for (const Bucket& bucket : gradient_buckets(network, schedule)) {
      EXPECT_THAT(sizes, Contains(4 * bucket.elements));
      sum += bucket.elements;
      most = std::max(most, 4 * bucket.elements);
    }
    EXPECT_EQ(sum, network.parameter_count());
  }
  EXPECT_EQ(sizes.back(), most);
}

TEST(MessageSizes, RefuseWhatCannotBeSent) {
  EXPECT_THROW(message_sizes({"64"}, {}), ConfigError);
  EXPECT_THROW(message_sizes({"6 B"}, {}), ConfigError);
  EXPECT_THROW(message_sizes({"0 B"}, {}), ConfigError);
  EXPECT_THROW(message_sizes({"-4 B"}, {}), ConfigError);
  EXPECT_THROW(message_sizes({"gradient"}, {}), ConfigError);
  EXPECT_THROW(message_sizes({"gradients"}, {"no_such_network"}), ConfigError);
}

TEST(RotatingBuffers, FillTheSizeBeforeOneComesAgain) {
  const Bytes size(2e6);
  for (const std::size_t elements : {std::size_t{1}, std::size_t{1000}, std::size_t{500'000}}) {
    RotatingBuffers buffers(elements, size);
    const float* first = buffers.next().data();
    std::size_t passed = 1;
    while (buffers.next().data() != first) ++passed;
    EXPECT_EQ(passed, buffers.count());
    const std::size_t lines = (elements * sizeof(float) + 63) / 64;
    EXPECT_GE(static_cast<double>(passed * lines * 64), size.si()) << elements;
  }
}

TEST(RotatingBuffers, AreOneIfHot) {
  RotatingBuffers buffers(10, Bytes(0));
  EXPECT_EQ(buffers.next().data(), buffers.next().data());
}

TEST(RotatingBuffers, HandOutOnesEvenAfterUse) {
  RotatingBuffers buffers(3, Bytes(100));
  for (std::size_t round = 0; round < 3 * buffers.count(); ++round) {
    const std::span<float> values = buffers.next();
    EXPECT_THAT(values, ElementsAre(1.0F, 1.0F, 1.0F));
    std::fill(values.begin(), values.end(), 7.0F);
  }
}

}  // namespace
}  // namespace dlscale::bench
