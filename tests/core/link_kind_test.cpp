#include "core/cluster/link_kind.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/config/config_path.hpp"
#include "tests/core/mutated.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

constexpr std::string_view small_link = R"(link: small
reach: inter_node
transport: tcp
rates:
  - {name: slow, bandwidth: 1 Gb/s}
  - {name: fast, bandwidth: 10 Gb/s}
framings:
  - {name: MTU 1500, payload: 1448 B, overhead: 90 B}
latency: {low: 20 us, high: 50 us, of: a message and its answer}
sources: [{of: all, title: a standard}]
)";

LinkKind load_kind(const std::string& file) {
  return load_link_kind(file);
}

std::string link_kind_error_after(std::string_view from, std::string_view to) {
  return test::error_after(small_link, from, to, load_kind);
}

TEST(ConfiguredLinks, AllLoadAndAreCalledLikeTheirFiles) {
  const std::vector<LinkKind> kinds = load_link_kinds();
  const std::vector<std::string> names = config_names("links");
  ASSERT_EQ(kinds.size(), names.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(kinds[i].name, names[i]);
}

TEST(ConfiguredLinks, OfANodeAreThoseOfPublishedCases) {
  const std::map<std::string, double> nominal{
      {"pcie3x16", 15.75e9}, {"pcie4x16", 31.5e9}, {"pcie5x16", 63e9},
      {"nvlink1", 80e9},     {"nvlink2", 150e9},   {"nvswitch2", 150e9},
      {"nvlink3", 300e9},    {"nvlink4", 450e9},   {"nvlink5", 900e9}};
  for (const auto& [name, bandwidth] : nominal) {
    const LinkKind kind = load_link_kind(name);
    EXPECT_EQ(kind.reach, LinkReach::intra_node) << name;
    EXPECT_NEAR(kind.bandwidth().si() / bandwidth, 1, 0.001) << name;
  }
  for (const char* name :
       {"ethernet-tcp", "infiniband-rdma", "roce", "aries", "omni-path", "slingshot", "efa"}) {
    EXPECT_EQ(load_link_kind(name).reach, LinkReach::inter_node) << name;
  }
}

TEST(ConfiguredLinks, OfPciExpressAreItsLanes) {
  for (int generation = 1; generation <= 5; ++generation) {
    const LinkKind kind = load_link_kind("pcie" + std::to_string(generation) + "x16");
    EXPECT_EQ(kind.channels, 16);
    EXPECT_NEAR(kind.bandwidth() / pcie_bandwidth(generation, 16), 1, 1e-4) << generation;
  }
  EXPECT_DOUBLE_EQ(pcie_bandwidth(3, 8).si(), 8e9 * 128 / 130);
  EXPECT_DOUBLE_EQ(pcie_bandwidth(2, 1).si(), 0.5e9);
}

TEST(ConfiguredLinks, LeaveTheShareOfPayloadThatHeadersLeave) {
  const LinkKind ethernet = load_link_kind("ethernet-tcp");
  ASSERT_EQ(ethernet.framings.size(), 2U);
  EXPECT_NEAR(ethernet.framings[0].efficiency(), 0.941482, 1e-6);
  EXPECT_DOUBLE_EQ(ethernet.framings[1].efficiency(), 8948.0 / 9038);
  for (const LinkKind& kind : load_link_kinds()) {
    for (const LinkFraming& framing : kind.framings) {
      EXPECT_GT(framing.efficiency(), 0.8) << kind.name;
      EXPECT_LT(framing.efficiency(), 1) << kind.name;
    }
  }
}

TEST(LinkFile, ReadsUnitsIntoSi) {
  const LinkKind kind = test::load_text(small_link, load_kind);
  EXPECT_EQ(kind.transport, LinkTransport::tcp);
  ASSERT_EQ(kind.rates.size(), 2U);
  EXPECT_DOUBLE_EQ(kind.rates[1].bandwidth.si(), 1.25e9);
  ASSERT_TRUE(kind.latency);
  EXPECT_DOUBLE_EQ(kind.latency->high.si(), 50e-6);
  EXPECT_EQ(kind.sources.front().of.size(), 3U);
}

TEST(LinkFile, WrongValuesAreRefusedByName) {
  expect_contains(link_kind_error_after("inter_node", "between"),
                  "/reach: \"between\" is not a reach");
  expect_contains(link_kind_error_after("tcp", "tpc"), "Did you mean \"tcp\"?");
  expect_contains(link_kind_error_after("bandwidth: 10 Gb/s", "bandwidth: 1 Gb/s"),
                  "slowest first");
  expect_contains(link_kind_error_after("name: fast", "name: slow"), "/rates/1/name");
  expect_contains(link_kind_error_after("bandwidth: 10 Gb/s", "bandwidth: 1000 Tb/s"),
                  "/rates/1/bandwidth is \"1000 Tb/s\" (out of");
  expect_contains(link_kind_error_after("overhead: 90 B", "overhead: 9 kB"),
                  "/framings/0/overhead");
  expect_contains(link_kind_error_after("high: 50 us", "high: 5 us"), "/latency/high");
  expect_contains(link_kind_error_after("high: 50 us", "high: 50 s"), "more than a second");
  expect_contains(link_kind_error_after("reach: inter_node", "reach: intra_node"),
                  "/rates is a list (but");
  expect_contains(link_kind_error_after("rates:", "channels: 4\nrates:"),
                  "/channels is \"4\" (but");
  expect_contains(link_kind_error_after("of: all", "of: [rates, framings]"),
                  "/latency has no source");
  expect_contains(link_kind_error_after("latency:", "latncy:"), "Did you mean \"latency\"?");
}

TEST(LinkFile, DamagedTextIsReadOrRefused) {
  test::expect_no_crash(small_link, load_kind);
}

}  // namespace
}  // namespace dlscale
