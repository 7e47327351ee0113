// All-reduces between hosts whose messages go one way at a time, on cores that they share.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/communication/fit_algorithm.hpp"
#include "model/fits/fit.hpp"
#include "tests/model/synthetic_messages.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

/// Of messages between hosts: 30 us and 8 ns/B, and χ for each byte that another one meets.
struct Wire {
  double chi = 0;
  int cores = 0;
};

SecondsOf by_open_mpi_on(Wire wire) {
  return [wire](const Placement& layout, double bytes) {
    Carrier carrier{"all_reduce", ChosenBy::open_mpi, {}, 1};
    carrier.cores = wire.cores;
    carrier.two_way = true;
    const LinkTerms terms = carrier.terms(layout, Bytes(bytes)).value();
    return 30e-6 * terms.alpha_inter +
           bytes * (8e-9 * terms.beta_inter + wire.chi * terms.both_ways);
  };
}

MessageFamily hosts(const std::vector<int>& ranks, const Wire& wire) {
  std::vector<Placement> layouts;
  for (const int each : ranks) layouts.push_back({each, 1});
  MessageFamily family = all_reduces(layouts, powers(4, 1 << 26), by_open_mpi_on(wire));
  family.library = "Open MPI 4.1.4";
  family.cores = wire.cores;
  return family;
}

double error(const AlgorithmFit& fit, const Wire& wire, int ranks, double bytes) {
  const auto prediction = predict_message(fit, {ranks, 1}, Bytes(bytes));
  if (!prediction) return INFINITY;
  return std::abs(prediction->time.value.si() / by_open_mpi_on(wire)({ranks, 1}, bytes) - 1);
}

TEST(TwoWays, AreToldFromOneByTwoNumbersOfHosts) {
  const Wire wire{8e-9, 0};
  const auto fit = fit_algorithm(hosts({2, 3}, wire));
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->carrier.chosen_by, ChosenBy::open_mpi);
  EXPECT_TRUE(fit->carrier.two_way);
  ASSERT_TRUE(fit->ranges.back().both_ways);
  EXPECT_NEAR(fit->ranges.back().both_ways->value.si(), 8e-9, 1e-11);
  EXPECT_NEAR(fit->ranges.back().inter->beta.value.si(), 8e-9, 1e-11);
  for (const int ranks : {2, 3, 4, 8}) EXPECT_LT(error(*fit, wire, ranks, 3e6), 0.01) << ranks;
}

TEST(TwoWays, ArePartOfBetaWhereNothingTellsThem) {
  const auto full_duplex = fit_algorithm(hosts({2, 3}, {}));
  ASSERT_TRUE(full_duplex);
  EXPECT_FALSE(full_duplex->carrier.two_way);
  EXPECT_FALSE(full_duplex->ranges.back().both_ways);
  const auto one_layout = fit_algorithm(hosts({2}, {8e-9, 0}));  // exchanges alone
  ASSERT_TRUE(one_layout);
  EXPECT_FALSE(one_layout->carrier.two_way);
  EXPECT_LT(error(*one_layout, {8e-9, 0}, 2, 3e6), 0.01);
}

TEST(SharedCores, AreForeseenOnMoreHosts) {
  const Wire wire{0, 2};
  MessageFamily family = hosts({2, 3}, wire);
  const auto fit = fit_algorithm(family);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->carrier.cores, 2);
  for (const double bytes : {64.0, 20000.0, 3e6}) {
    EXPECT_LT(error(*fit, wire, 4, bytes), 0.02) << bytes;
  }
  family.cores = 0;  // as if each had its own
  EXPECT_GT(error(*fit_algorithm(family), wire, 4, 64), 0.3);
}

TEST(SharedCores, AreThoseThatTheClusterNames) {
  const auto cores = [](const std::string& cluster) {
    Environment environment;
    environment.variables["DLSCALE_CLUSTER"] = cluster;
    return cores_of_hosts(environment);
  };
  const std::string links = ", links of 1Gb/s, 1Gb/s by tc tbf with bursts of 50000, 50000 bytes";
  EXPECT_EQ(cores("2 hosts on one machine with cores 0 | 1" + links), 2);
  EXPECT_EQ(cores("3 hosts on one machine with cores 0,1 | 0,1 | 0,1" + links), 2);
  EXPECT_EQ(cores("2 hosts on one machine with cores 0,1 | 2,3" + links), 4);
  EXPECT_EQ(cores("a rack"), 0);
  EXPECT_EQ(cores_of_hosts(Environment{}), 0);
  EXPECT_EQ(alike(std::vector{2, 2}), 2);
  EXPECT_EQ(alike(std::vector{2, 4}), 0);
  EXPECT_EQ(alike({}), 0);
}

TEST(Rules, StandWhereTheyAreKnownToBeInForce) {
  // By another algorithm than the rules name.
  MessageFamily family =
      all_reduces({{2, 1}, {3, 1}}, powers(4, 1 << 26), [](const Placement& layout, double bytes) {
        return closed_form_seconds("binomial", layout.ranks, bytes);
      });
  family.library = "Open MPI 4.1.4";
  EXPECT_EQ(fit_algorithm(family)->carrier.chosen_by, ChosenBy::fit);
  family.by_defaults = true;
  EXPECT_EQ(fit_algorithm(family)->carrier.chosen_by, ChosenBy::open_mpi);
  family.library = "Open MPI 3.1.2";  // whose rules are others
  EXPECT_EQ(fit_algorithm(family)->carrier.chosen_by, ChosenBy::fit);
}

TEST(Rules, AreInForceWhereNoVariableBearsOnThem) {
  Environment environment;
  EXPECT_FALSE(chooses_by_defaults(environment));  // imported
  environment.compiler = "a compiler";
  environment.variables["OMPI_MCA_btl"] = "tcp";
  EXPECT_TRUE(chooses_by_defaults(environment));
  environment.variables["OMPI_MCA_coll_tuned_use_dynamic_rules"] = std::string(1, '1');
  EXPECT_FALSE(chooses_by_defaults(environment));
}

/// Sizes of 8 octaves are left out, in which the library changes its algorithm four times.
TEST(FormRatios, KnowWhereTheLibraryChangesItsAlgorithm) {
  const auto uneven = [](const Placement& layout, double bytes) {
    return (layout.ranks == 2 ? 0.9 : 1.1) * by_open_mpi_on({})(layout, bytes);
  };
  MessageFamily family = all_reduces({{2, 1}, {3, 1}}, powers(4, 1 << 26), uneven);
  family.library = "Open MPI 4.1.4";
  family.by_defaults = true;
  std::erase_if(family.samples, [](const MessageSample& sample) {
    return sample.bytes > Bytes(2000) && sample.bytes < Bytes(500000);
  });
  const auto fit = fit_algorithm(family);
  ASSERT_TRUE(fit);
  ASSERT_EQ(fit->carrier.chosen_by, ChosenBy::open_mpi);
  for (const LayoutFit& layout : fit->layouts) {
    EXPECT_FALSE(layout.ratios.at.empty());
    for (const double bytes : {5000.0, 12000.0, 30000.0, 100000.0}) {
      const auto prediction = predict_message(*fit, layout.layout, Bytes(bytes));
      ASSERT_TRUE(prediction);
      EXPECT_NEAR(prediction->time.value.si() / uneven(layout.layout, bytes), 1, 0.05) << bytes;
      EXPECT_LT(prediction->time.low, prediction->time.value);
      EXPECT_GT(prediction->time.high, prediction->time.value);
    }
    const double own = layout.cost.time(Bytes(5000)).value.si();
    EXPECT_GT(std::abs(own / uneven(layout.layout, 5000) - 1), 0.1);
  }
}

TEST(FormRatios, WeighNearSizesMoreAndLeaveDoubtAlone) {
  const FormRatios none = form_ratios({});
  EXPECT_EQ(none.log_ratio(Bytes(64)), 0);
  EXPECT_EQ(none.deviation, 0);
  const FormRatios one = form_ratios({{Bytes(64), 0.4}});
  EXPECT_DOUBLE_EQ(one.log_ratio(Bytes(64)), 0.2);       // half of it: one more says 0
  EXPECT_DOUBLE_EQ(one.log_ratio(Bytes(256)), 0.4 / 3);  // two octaves: half the weight
  EXPECT_DOUBLE_EQ(one.log_ratio(Bytes(16)), 0.4 / 3);
  EXPECT_DOUBLE_EQ(one.deviation, 0.4);  // without it, 0 was foretold
  const FormRatios two = form_ratios({{Bytes(64), 0.4}, {Bytes(256), 0.4}});
  EXPECT_GT(two.log_ratio(Bytes(64)), one.log_ratio(Bytes(64)));
  EXPECT_LT(two.deviation, one.deviation);
}

}  // namespace
}  // namespace dlscale::model
