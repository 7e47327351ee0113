#include "model/sgd_iter/cluster/max_min_fair_links.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace dlscale::model {
namespace {

using Path = std::vector<LinkId>;

std::vector<double> rates_of(const MaxMinFairLinks& links) {
  std::vector<double> rates;
  for (const auto& [flow, rate] : links.rates()) rates.push_back(rate.si());
  return rates;
}

TEST(MaxMinFairLinks, GiveNFlowsOfALinkAnNthEach) {
  MaxMinFairLinks links;
  const Path path{links.add(BytesPerSecond(12))};
  for (std::uint32_t n = 1; n <= 6; ++n) {
    links.begin(n, Bytes(1e6), path, Seconds());
    EXPECT_EQ(rates_of(links), std::vector<double>(n, 12.0 / n));
  }
}

TEST(MaxMinFairLinks, SpeedUpThoseThatGoOn) {
  MaxMinFairLinks links;
  const Path path{links.add(BytesPerSecond(10))};
  links.begin(1, Bytes(10), path, Seconds());
  links.begin(2, Bytes(30), path, Seconds());
  links.begin(3, Bytes(20), path, Seconds(1));  // the others have 5 and 25 B left
  // Thirds of 10 B/s until 2.5 s, then halves: 15 B of the third and 20 B of the second are left.
  EXPECT_NEAR(links.next().si(), 2.5, 1e-12);
  EXPECT_EQ(links.end(), 1U);
  EXPECT_NEAR(links.next().si(), 5.5, 1e-12);
  EXPECT_EQ(links.end(), 3U);
  EXPECT_NEAR(links.next().si(), 6, 1e-12);
  EXPECT_EQ(links.end(), 2U);
  EXPECT_TRUE(std::isinf(links.next().si()));
}

/// Two links of 10 and 4 B/s: one flow over both, one on each. The narrow link settles its two at
/// 2 B/s, which leaves 8 B/s of the wide one.
TEST(MaxMinFairLinks, GiveAFlowOverTwoWhatTheTighterHas) {
  MaxMinFairLinks links;
  const LinkId wide = links.add(BytesPerSecond(10));
  const LinkId narrow = links.add(BytesPerSecond(4));
  links.begin(1, Bytes(4), Path{wide, narrow}, Seconds());
  links.begin(2, Bytes(80), Path{wide}, Seconds());
  links.begin(3, Bytes(4), Path{narrow}, Seconds());
  EXPECT_EQ(rates_of(links), (std::vector<double>{2, 8, 2}));
  EXPECT_NEAR(links.next().si(), 2, 1e-12);
  EXPECT_EQ(links.end(), 1U);
  EXPECT_NEAR(links.next().si(), 2, 1e-12);
  EXPECT_EQ(links.end(), 3U);
  EXPECT_EQ(rates_of(links), (std::vector<double>{10}));
  EXPECT_NEAR(links.next().si(), 2 + 64.0 / 10, 1e-12);
}

/// The example of three links in a row, a flow over all and one on each, by capacities 6, 3, 9:
/// 1.5 of the middle for two, 4.5 and 7.5 for the others.
TEST(MaxMinFairLinks, SettleOneLinkAfterTheOther) {
  MaxMinFairLinks links;
  Path row;
  for (const double capacity : {6.0, 3.0, 9.0}) row.push_back(links.add(BytesPerSecond(capacity)));
  links.begin(0, Bytes(1), row, Seconds());
  for (std::uint32_t i = 0; i < 3; ++i) links.begin(i + 1, Bytes(1), Path{row[i]}, Seconds());
  EXPECT_EQ(rates_of(links), (std::vector<double>{1.5, 4.5, 1.5, 7.5}));
}

struct RandomFlows {
  std::vector<double> capacities;
  std::vector<Path> paths;
  explicit RandomFlows(std::mt19937& random) {
    std::uniform_real_distribution<double> capacity(1, 100);
    std::uniform_int_distribution<std::size_t> some(1, 8);
    const std::size_t links = some(random);
    for (std::size_t i = 0; i < links; ++i) capacities.push_back(capacity(random));
    for (std::size_t flow = 3 * some(random); flow > 0; --flow) {
      Path path;
      for (std::size_t i = 0; i < links; ++i) path.emplace_back(i);
      std::ranges::shuffle(path, random);
      path.resize(std::uniform_int_distribution<std::size_t>(1, links)(random));
      paths.push_back(path);
    }
  }
  /// Begun in the order of `order`, under numbers that do not depend on it.
  [[nodiscard]] std::vector<double> rates(const std::vector<std::uint32_t>& order) const {
    MaxMinFairLinks links;
    for (const double capacity : capacities) links.add(BytesPerSecond(capacity));
    for (const std::uint32_t flow : order) links.begin(flow, Bytes(1), paths[flow], Seconds());
    return rates_of(links);
  }
};

/// Max-min fair [Bertsekas & Gallager]: no link above its capacity, and every flow has a link that
/// is full and on which no flow is faster.
void expect_max_min(const RandomFlows& flows, const std::vector<double>& rates) {
  std::vector<double> used(flows.capacities.size());
  std::vector<double> fastest(flows.capacities.size());
  for (std::size_t flow = 0; flow < rates.size(); ++flow) {
    for (const LinkId link : flows.paths[flow]) {
      used[link.index()] += rates[flow];
      fastest[link.index()] = std::max(fastest[link.index()], rates[flow]);
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    EXPECT_LE(used[i], flows.capacities[i] * (1 + 1e-12));
  }
  for (std::size_t flow = 0; flow < rates.size(); ++flow) {
    EXPECT_TRUE(std::ranges::any_of(flows.paths[flow], [&](LinkId link) {
      const std::size_t i = link.index();
      return used[i] >= flows.capacities[i] * (1 - 1e-12) &&
             rates[flow] >= fastest[i] * (1 - 1e-12);
    })) << flow;
  }
}

TEST(MaxMinFairLinks, AreMaxMinFairInWhateverOrderFlowsCome) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const RandomFlows flows(random);
    std::vector<std::uint32_t> order(flows.paths.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const std::vector<double> rates = flows.rates(order);
    ASSERT_EQ(rates.size(), order.size());
    expect_max_min(flows, rates);
    std::ranges::shuffle(order, random);
    const std::vector<double> others = flows.rates(order);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      EXPECT_NEAR(others[i], rates[i], 1e-10 * rates[i]);
    }
  }
}

TEST(MaxMinFairLinks, WasteNothingOfALinkWhileFlowsGoOn) {
  std::mt19937 random(4);
  std::uniform_real_distribution<double> size(1, 100);
  for (int trial = 0; trial < 50; ++trial) {
    MaxMinFairLinks links;
    const Path path{links.add(BytesPerSecond(7))};
    double all = 0;
    for (std::uint32_t flow = 0; flow < 20; ++flow) {
      const double bytes = size(random);
      all += bytes;
      // All come before the first could have ended.
      links.begin(flow, Bytes(bytes), path, Seconds(0.1 * flow / 20));
    }
    double last = 0;
    for (int i = 0; i < 20; ++i) {
      EXPECT_GE(links.next().si(), last);
      last = links.next().si();
      links.end();
    }
    EXPECT_NEAR(last, all / 7, 1e-9 * last);
  }
}

TEST(MaxMinFairLinks, RefuseWhatIsNone) {
  MaxMinFairLinks links;
  EXPECT_THROW(links.add(BytesPerSecond(0)), std::logic_error);
  EXPECT_THROW(links.add(BytesPerSecond(INFINITY)), std::logic_error);
  const LinkId link = links.add(BytesPerSecond(1));
  EXPECT_THROW(links.begin(0, Bytes(1), Path{}, Seconds()), std::logic_error);
  EXPECT_THROW(links.begin(0, Bytes(0), Path{link}, Seconds()), std::logic_error);
  EXPECT_THROW(links.begin(0, Bytes(1), Path{LinkId(1)}, Seconds()), std::logic_error);
  EXPECT_THROW(links.end(), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
