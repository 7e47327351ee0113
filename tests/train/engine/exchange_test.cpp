#include "train/exchange/exchange.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/train/engine/failing_communicator.hpp"
#include "tests/train/engine/fixtures.hpp"

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
      GradientExchange exchange(communicator.duplicate(), Staging(), backend::Waiting::sleep);
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
  GradientExchange exchange(std::move(backend::local_group(1).front()), Staging(),
                            backend::Waiting::spin);
  EXPECT_TRUE(exchange.finish().empty());
}

TEST(GradientExchange, BringsAFailureOfItsThreadToTheCaller) {
  std::vector<float> gradients(8);
  GradientExchange exchange(std::make_unique<FailingCommunicator>(1), Staging(),
                            backend::Waiting::sleep);
  for (std::size_t i = 0; i < 3; ++i) exchange.post(i, gradients, passed());
  EXPECT_THROW(exchange.finish(), LibraryError);
  EXPECT_THROW(exchange.finish(), LibraryError);
}

TEST(GradientExchange, EndsWithMessagesStillWaiting) {
  std::vector<float> gradients(8);
  for (int i = 0; i < 20; ++i) {
    GradientExchange exchange(std::move(backend::local_group(1).front()), Staging(),
                              backend::Waiting::sleep);
    for (std::size_t k = 0; k < 10; ++k) exchange.post(k, gradients, passed());
  }
}

}  // namespace
}  // namespace dlscale::train
