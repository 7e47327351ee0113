#include "core/results/bandwidths.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace dlscale {
namespace {

Measurement row(const std::string& collective, const std::string& bytes, const std::string& ranks) {
  Measurement measurement;
  measurement.benchmark = "comm";
  measurement.axes = {{"collective", collective}, {"bytes", bytes}, {"ranks", ranks}};
  return measurement;
}

TEST(BusFactor, IsThatOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor("all_reduce", 4).value(), 1.5);
  for (const char* name : {"all_gather", "reduce_scatter", "all_to_all"}) {
    EXPECT_DOUBLE_EQ(bus_factor(name, 4).value(), 0.75) << name;
  }
  for (const char* name :
       {"broadcast", "reduce", "sendrecv", "bandwidth", "bidirectional", "pairs"}) {
    EXPECT_DOUBLE_EQ(bus_factor(name, 4).value(), 1) << name;
  }
  EXPECT_FALSE(bus_factor("barrier", 4).has_value());
}

/// The table of factors that was read off nccl-tests, where it is at hand.
TEST(BusFactor, AgreesWithTheTableOfOthers) {
  std::ifstream file(DLSCALE_SHARED_DATA "/data/collective_bandwidth_factors.csv");
  if (!file) GTEST_SKIP() << "no table of factors here";
  const std::map<std::string, double> of_four{{"2(n-1)/n", 1.5}, {"(n-1)/n", 0.75}, {"1", 1.0}};
  std::string line;
  std::getline(file, line);
  int compared = 0;
  while (std::getline(file, line)) {
    std::string collective;
    std::string factor;
    std::istringstream fields(line.find('"') == std::string::npos ? line : std::string());
    std::getline(fields, collective, ',');
    for (int i = 0; i < 3; ++i) std::getline(fields, factor, ',');
    if (collective == "alltoall") collective = "all_to_all";
    const auto known = bus_factor(collective, 4);
    if (!known || !of_four.contains(factor)) continue;
    ++compared;
    EXPECT_DOUBLE_EQ(*known, of_four.at(factor)) << line;
  }
  EXPECT_GT(compared, 10);
}

TEST(Bandwidths, FollowFromTheSizeOfTheMessage) {
  const auto found = bandwidths(row("all_gather", "1000000", "4"), Seconds(1e-3));
  ASSERT_TRUE(found.has_value());
  EXPECT_DOUBLE_EQ(found->algbw.si(), 1e9);
  EXPECT_DOUBLE_EQ(found->busbw.value().si(), 0.75e9);
  EXPECT_FALSE(found->wirebw.has_value());
}

TEST(Bandwidths, OfTheWireAreThoseOfTheAlgorithmThatRan) {
  Measurement measurement = row("all_reduce", "1000000", "4");
  measurement.algorithmic_work = Work{Flops(0), Bytes(2e6)};
  EXPECT_DOUBLE_EQ(bandwidths(measurement, Seconds(1e-3))->wirebw.value().si(), 2e9);
}

TEST(Bandwidths, AreAbsentWhereNoMessageTravels) {
  EXPECT_FALSE(bandwidths(Measurement{}, Seconds(1)).has_value());
  EXPECT_FALSE(bandwidths(row("all_reduce", "0", "4"), Seconds(1)).has_value());
  EXPECT_FALSE(bandwidths(row("all_reduce", "some", "4"), Seconds(1)).has_value());
  EXPECT_FALSE(bandwidths(row("all_reduce", "8", "4"), Seconds(0)).has_value());
  const auto other = bandwidths(row("gossip", "8", "4"), Seconds(1));
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(other->busbw.has_value());
}

}  // namespace
}  // namespace dlscale
