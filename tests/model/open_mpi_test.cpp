// What Open MPI's algorithms send where they are not those of the family, and what schedules count.
#include "model/communication/open_mpi.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "model/communication/carrier.hpp"
#include "model/communication/schedule_counts.hpp"
#include "tests/core/collective/executor.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Schedule;

const Algorithm& all_reduce(std::string_view name) {
  return *collective::find(Collective::all_reduce, name);
}

TEST(OpenMpi, HalvesBeforeRabenseifnerGiveTheSum) {
  for (int p = 2; p <= 17; ++p) {
    const Schedule schedule = open_mpi_schedule(all_reduce("rabenseifner"), {.p = p});
    collective::test::expect_right_result(Collective::all_reduce, schedule, {.p = p});
  }
}

TEST(OpenMpi, TermsAreThoseOfItsSchedule) {
  const collective::Link link{Seconds(10e-6), SecondsPerByte(0.5e-9), SecondsPerByte(0.1e-9)};
  const Bytes m(1e6);
  const Carrier carrier{"all_reduce", ChosenBy::open_mpi, {}, 1};
  for (int p = 2; p <= 17; ++p) {
    if (carrier.algorithm_for({p, 1}, m) != "rabenseifner") continue;
    const auto terms = carrier.terms({p, 1}, m);
    ASSERT_TRUE(terms);
    const double seconds =
        terms->alpha_inter * link.alpha.si() +
        m.si() * (terms->beta_inter * link.beta.si() + terms->gamma * link.gamma.si());
    const auto schedule = open_mpi_schedule(all_reduce("rabenseifner"), {.p = p});
    EXPECT_NEAR(seconds / collective::time(schedule, link, m).si(), 1, 1e-12) << p;
  }
}

TEST(OpenMpi, TakesRecursiveDoublingForRingsOfFewerElementsThanRanks) {
  const Carrier carrier{"all_reduce", ChosenBy::open_mpi, {}, 1};
  EXPECT_EQ(carrier.algorithm_for({2, 1}, Bytes(4)), "recursive_doubling");
  EXPECT_EQ(carrier.algorithm_for({4, 1}, Bytes(12)), "recursive_doubling");
  EXPECT_EQ(carrier.algorithm_for({3, 1}, Bytes(4096)), "ring");
}

/// Bytes that a message of m travels both ways at once, by hand: an exchange of 2 ranks is all of
/// that; a ring of 3 has no two that send each other. Three ranks of Open MPI's Rabenseifner: half
/// of m both ways, half one way, half both ways twice, m one way.
TEST(ScheduleCounts, OfWhatTravelsBothWays) {
  const auto both_ways = [](std::string_view name, int p) {
    return count(open_mpi_schedule(all_reduce(name), {.p = p}), 0).both_ways;
  };
  EXPECT_DOUBLE_EQ(both_ways("ring", 2), 1);
  EXPECT_DOUBLE_EQ(both_ways("ring", 3), 0);
  EXPECT_DOUBLE_EQ(both_ways("recursive_doubling", 2), 1);
  EXPECT_DOUBLE_EQ(both_ways("recursive_doubling", 3), 1);
  EXPECT_DOUBLE_EQ(both_ways("recursive_doubling", 4), 2);
  EXPECT_DOUBLE_EQ(both_ways("rabenseifner", 2), 1);
  EXPECT_DOUBLE_EQ(both_ways("rabenseifner", 3), 1.5);
  EXPECT_DOUBLE_EQ(both_ways("rabenseifner", 4), 1.5);
  EXPECT_DOUBLE_EQ(both_ways("binomial", 4), 0);
}

TEST(ScheduleCounts, OfRanksThatShareCores) {
  const auto on_cores = [](std::string_view name, int p, int cores) {
    return count(all_reduce(name).schedule({.p = p}), cores).on_cores;
  };
  EXPECT_DOUBLE_EQ(on_cores("ring", 4, 0), 6);
  EXPECT_DOUBLE_EQ(on_cores("ring", 4, 8), 6);
  EXPECT_DOUBLE_EQ(on_cores("ring", 4, 2), 12);
  EXPECT_DOUBLE_EQ(on_cores("ring", 3, 2), 6);                // 4 rounds of 3 ranks
  EXPECT_DOUBLE_EQ(on_cores("recursive_doubling", 3, 2), 3);  // never more than 2 at once
  EXPECT_DOUBLE_EQ(on_cores("recursive_doubling", 4, 2), 4);
}

TEST(Carrier, CountsSharedCoresAndWhatTravelsBothWaysBetweenNodesAlone) {
  Carrier carrier{"all_reduce", ChosenBy::caller, "rabenseifner", 1};
  carrier.cores = 2;
  carrier.two_way = true;
  const auto between = carrier.terms({4, 1}, Bytes(1e6));
  ASSERT_TRUE(between);
  EXPECT_DOUBLE_EQ(between->alpha_inter, 8);
  EXPECT_DOUBLE_EQ(between->beta_inter, 1.5);
  EXPECT_DOUBLE_EQ(between->both_ways, 1.5);
  EXPECT_DOUBLE_EQ(between->at(Bytes(1e6)).back(), 1.5e6);
  const auto within = carrier.terms({4, 4}, Bytes(1e6));
  ASSERT_TRUE(within);
  EXPECT_DOUBLE_EQ(within->alpha_intra, 4);
  EXPECT_EQ(within->both_ways, 0);
  carrier.two_way = false;
  EXPECT_EQ(carrier.terms({4, 1}, Bytes(1e6))->both_ways, 0);
}

}  // namespace
}  // namespace dlscale::model
