#include "model/sgd_iter/graph/closed_form.hpp"
#include "tests/model/independent_forms.hpp"
#include "tests/model/nominal_ring.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace dlscale::model {
namespace {

std::vector<Seconds> seconds(std::initializer_list<double> values) {
  std::vector<Seconds> result;
  for (const double value : values) result.emplace_back(value);
  return result;
}

constexpr IterationParts parts{Seconds(7), Seconds(1), Seconds(2),
                               Seconds(4), Seconds(3), Seconds(0.5)};

TEST(PrefetchedInput, CountsOnlyWhatIsLonger) {
  EXPECT_EQ(iteration_input_prefetched(parts).si(), 10.5);  // max{7, 10.5}
}

TEST(WaitFree, ExposesTheFirstLayersMessageWhenAllElseHides) {
  const auto backward = seconds({4, 3, 2, 1});
  const auto comm = seconds({0.1, 0.1, 0.1, 0.5});
  EXPECT_NEAR(wait_free_closed_form(backward, comm).exposed.si(), 0.5, 1e-12);
}

TEST(WaitFree, ExposesNothingWithoutMessages) {
  EXPECT_EQ(wait_free_closed_form(seconds({4, 3}), seconds({0, 0})).exposed.si(), 0);
  EXPECT_EQ(wait_free_closed_form({}, {}).finish.si(), 0);
}

TEST(WaitFree, ClosedFormEqualsTheRecurrence) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> time(0, 1);
  std::bernoulli_distribution has_parameters(0.6);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<Seconds> backward;
    std::vector<Seconds> comm;
    for (int layer = 0; layer < 1 + trial % 60; ++layer) {
      backward.emplace_back(time(random));
      comm.emplace_back(has_parameters(random) ? 2 * time(random) : 0);
    }
    const auto expected = wait_free_recurrence(backward, comm).finish.si();
    EXPECT_NEAR(wait_free_closed_form(backward, comm).finish.si(), expected, 1e-12 * expected);
  }
}

TEST(WaitFree, RefusesListsOfDifferentLength) {
  EXPECT_THROW(wait_free_closed_form(seconds({1}), {}), std::logic_error);
}

TEST(Speedup, GivesEfficiencyAndThroughput) {
  EXPECT_DOUBLE_EQ(scaling_efficiency(6, 8), 0.75);
  EXPECT_DOUBLE_EQ(throughput(4, 32, Seconds(0.5)), 256);
}

TEST(Speedup, OfNobodyOrInNoTimeIsACallersMistake) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW((void)scaling_efficiency(1, 0), std::logic_error);
  EXPECT_THROW((void)throughput(1, 0, Seconds(1)), std::logic_error);
  EXPECT_THROW((void)throughput(1, 1, Seconds(infinity)), std::logic_error);
}

TEST(NominalRing, CostsNothingAloneAndTendsToTwoMessages) {
  EXPECT_EQ(nominal_ring(1, 1_MiB, 1.0_GBps), Seconds());
  Seconds last;
  for (int workers = 2; workers < 1'000'000; workers *= 3) {
    const Seconds time = nominal_ring(workers, Bytes(1e9), 1.0_GBps);
    EXPECT_GT(time, last);
    EXPECT_LT(time, Seconds(2));
    last = time;
  }
  EXPECT_NEAR(last.si(), 2, 1e-4);
}

}  // namespace
}  // namespace dlscale::model
