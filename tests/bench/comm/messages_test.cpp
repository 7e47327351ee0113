#include "bench/comm/traffic/messages.hpp"

#include <algorithm>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/comm/traffic/rotating_buffers.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {
namespace {

using backend::ElementType;
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

TEST(MessageSizes, NeighboursGoAsFarAsLargeOnesDo) {
  EXPECT_EQ(message_sizes({"neighbours"}, {}).back(), (64 << 20) + 4);
  EXPECT_EQ(message_sizes({"powers", "neighbours"}, {}).back(), (64 << 20) + 4);
  for (const Sizes& sizes : {message_sizes({"powers", "neighbours", "large"}, {}),
                             message_sizes({"large", "neighbours"}, {})}) {
    for (std::int64_t bytes = 8; bytes <= 1 << 30; bytes *= 2) {
      EXPECT_THAT(sizes, Contains(bytes - 4));
      EXPECT_THAT(sizes, Contains(bytes + 4));
    }
    EXPECT_EQ(sizes.back(), (1 << 30) + 4);
  }
}

TEST(MessageSizes, AreSortedAndEachThereOnce) {
  const Sizes sizes = message_sizes({"powers", "neighbours", "8 B", "4KiB"}, {});
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  EXPECT_EQ(std::adjacent_find(sizes.begin(), sizes.end()), sizes.end());
}

TEST(MessageSizes, OfOtherElementsAreWholeNumbersOfThem) {
  const Sizes doubles = message_sizes({"powers", "neighbours"}, {}, ElementType::f64);
  EXPECT_EQ(doubles.front(), 8);
  EXPECT_THAT(doubles, Contains((1 << 20) + 8));
  for (const std::int64_t bytes : doubles) EXPECT_EQ(bytes % 8, 0) << bytes;
  const Sizes halves = message_sizes({"powers", "neighbours"}, {}, ElementType::bf16);
  EXPECT_THAT(halves, Contains(4));
  EXPECT_THAT(halves, Contains(2));
  EXPECT_THAT(halves, Contains((1 << 20) - 2));
  EXPECT_THAT(message_sizes({"3 B"}, {}, ElementType::u8), ElementsAre(3));
  EXPECT_THROW(message_sizes({"12 B"}, {}, ElementType::f64), ConfigError);
  EXPECT_THROW(message_sizes({"3 B"}, {}, ElementType::f16), ConfigError);
  const Sizes whole = message_sizes({"gradients"}, {"alexnet"});
  const Sizes half = message_sizes({"gradients"}, {"alexnet"}, ElementType::f16);
  ASSERT_EQ(whole.size(), half.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], 2 * half[i]);
}

TEST(MessageSizes, ReachOneGibibyteWhereLargeOnesAreAskedFor) {
  EXPECT_THAT(message_sizes({"large"}, {}), ElementsAre(1 << 27, 1 << 28, 1 << 29, 1 << 30));
}

TEST(MessageSizes, OfBlocksAreRoundedUpToEqualOnes) {
  EXPECT_THAT(in_equal_blocks({4, 8, 12, 16, 1 << 20}, 3, ElementType::f32),
              ElementsAre(12, 24, 1048584));
  EXPECT_THAT(in_equal_blocks({1, 2, 5}, 2, ElementType::u8), ElementsAre(2, 6));
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

std::vector<std::byte> pattern(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(RotatingBuffers, FillTheSizeBeforeOneComesAgain) {
  const Bytes size(2e6);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4000}, std::size_t{2'000'000}}) {
    RotatingBuffers buffers(bytes, pattern({1}), size);
    const std::byte* first = buffers.next().data();
    std::size_t passed = 1;
    while (buffers.next().data() != first) ++passed;
    EXPECT_EQ(passed, buffers.count());
    const std::size_t lines = (bytes + 63) / 64;
    EXPECT_GE(static_cast<double>(passed * lines * 64), size.si()) << bytes;
  }
}

TEST(RotatingBuffers, AreOneIfHot) {
  RotatingBuffers buffers(10, pattern({1}), Bytes(0));
  EXPECT_EQ(buffers.next().data(), buffers.next().data());
}

TEST(RotatingBuffers, HandOutThePatternEvenAfterUse) {
  RotatingBuffers buffers(7, pattern({1, 2, 3}), Bytes(100));
  for (std::size_t round = 0; round < 3 * buffers.count(); ++round) {
    const std::span<std::byte> values = buffers.next();
    EXPECT_EQ(values.size(), 7U);
    // A buffer begins at a line of the cache, which is no whole number of this pattern.
    for (std::size_t i = 1; i < values.size(); ++i) {
      EXPECT_EQ(static_cast<int>(values[i]), static_cast<int>(values[i - 1]) % 3 + 1);
    }
    std::ranges::fill(values, std::byte{7});
  }
}

TEST(RotatingBuffers, FilledOnceAreAsTheyWereLeft) {
  RotatingBuffers buffers(7, pattern({1}), Bytes(0), RotatingBuffers::Filled::once);
  const std::span<std::byte> first = buffers.next();
  for (const std::byte value : first) EXPECT_EQ(value, std::byte{1});
  std::ranges::fill(first, std::byte{7});
  for (const std::byte value : buffers.next()) EXPECT_EQ(value, std::byte{7});
}

TEST(RotatingBuffers, BeginEachWithALineAndTheFirstWithAPage) {
  RotatingBuffers buffers(100, pattern({1}), Bytes(1000));
  const auto address = [&] { return reinterpret_cast<std::uintptr_t>(buffers.next().data()); };
  EXPECT_EQ(address() % 4096, 0U);
  for (std::size_t i = 1; i < buffers.count(); ++i) EXPECT_EQ(address() % 64, 0U);
}

TEST(RotatingBuffers, BeginEachWithAWholeElement) {
  RotatingBuffers buffers(24, pattern({1, 2, 3, 4, 5, 6, 7, 8}), Bytes(1000));
  for (std::size_t round = 0; round < buffers.count(); ++round) {
    const std::span<std::byte> values = buffers.next();
    for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(static_cast<std::size_t>(values[i]), i % 8 + 1);
  }
}

}  // namespace
}  // namespace dlscale::bench
