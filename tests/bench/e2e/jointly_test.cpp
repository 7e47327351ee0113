#include "bench/e2e/rank_agreement.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "core/base/error.hpp"
#include "tests/backend/comm/unheard_communicator.hpp"

namespace dlscale::bench {
namespace {

/// Calls that the others would have to join, of one rank of three that throws `error` in work of
/// all.
template <class E>
int calls_after(const E& error) {
  int calls = 0;
  backend::UnheardCommunicator ranks(3, [&calls] { ++calls; });
  EXPECT_THROW(run_jointly(ranks, [&error] { throw E(error); }), E);
  return calls;
}

TEST(RunJointly, SaysNothingToRanksThatMayStillBeInWhatFailed) {
  EXPECT_EQ(calls_after(LibraryError("cudaStreamQuery failed for rank 1's messages.")), 0);
  EXPECT_EQ(calls_after(std::bad_alloc()), 0);
  EXPECT_EQ(calls_after(std::logic_error("a bug in dlscale")), 0);
}

TEST(RunJointly, TellsTheOthersOfWhatLeavesThemInStep) {
  int calls = 0;
  backend::UnheardCommunicator ranks(3, [&calls] { ++calls; });
  const auto wrong = [] { throw WrongResult("the loss is not finite"); };
  EXPECT_EQ(run_jointly(ranks, wrong).answer, JointEnd::Answer::wrong);
  EXPECT_GT(calls, 0);
  EXPECT_GT(calls_after(ConfigError("picture.jpg is truncated.")), 0);
}

}  // namespace
}  // namespace dlscale::bench
