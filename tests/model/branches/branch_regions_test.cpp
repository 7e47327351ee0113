#include "model/parallel/branches/branch_regions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "model/parallel/branches/branch_network.hpp"

namespace dlscale::model {
namespace {

using Kind = BranchRegion::Kind;

std::size_t count_of(const std::vector<BranchRegion>& regions, Kind kind) {
  return static_cast<std::size_t>(std::ranges::count(regions, kind, &BranchRegion::kind));
}

TEST(BranchRegions, OfTransformersAreHeadsAndSlices) {
  const Network network = load_network("t5_large");
  const std::vector<BranchRegion> regions = branch_regions(network);
  EXPECT_EQ(count_of(regions, Kind::heads), 24U + 2 * 24);  // the decoder attends twice
  EXPECT_EQ(count_of(regions, Kind::slices), 48U);
  EXPECT_EQ(count_of(regions, Kind::paths), 0U);
  EXPECT_EQ(branch_facts(regions).branches, 16);
  for (const BranchRegion& region : regions) {
    const bool is_cross = network.layer(region.exit).name.find("cross") != std::string::npos;
    EXPECT_EQ(region.entries.size(), is_cross ? 2U : 1U) << network.layer(region.exit).name;
  }
}

TEST(BranchRegions, OfOtherNetworksAreWhatStandsSideBySide) {
  const auto count = [](std::string_view name, Kind kind) {
    return count_of(branch_regions(load_network(name)), kind);
  };
  EXPECT_EQ(count("bert_large", Kind::heads), 24U);
  EXPECT_EQ(count("bert_large", Kind::slices), 24U);
  EXPECT_EQ(count("llama2_7b", Kind::heads), 32U);
  EXPECT_EQ(count("llama2_7b", Kind::slices), 32U);
  EXPECT_EQ(count("gpt2", Kind::slices), 12U);
  EXPECT_EQ(count("resnext50_32x4d", Kind::slices), 16U);
  EXPECT_EQ(count("vgg16", Kind::slices), 0U);
  EXPECT_TRUE(branch_regions(load_network("vgg16")).empty());
  EXPECT_TRUE(branch_regions(load_network("resnet18")).size() <= 3);  // projections of shortcuts
}

TEST(BranchRegions, OfInceptionAndAmoebaNetArePathsToAJoin) {
  const Network inception = load_network("inception_v4");
  const std::vector<BranchRegion> regions = branch_regions(inception);
  EXPECT_GE(regions.size(), 16U);  // 4 + 7 + 3 blocks, two reductions, and forks of the stem
  int of_four = 0;
  for (const BranchRegion& region : regions) {
    EXPECT_EQ(region.kind, Kind::paths);
    EXPECT_FALSE(region.adds);
    if (region.most_ways == 4) ++of_four;
  }
  EXPECT_EQ(of_four, 14);
  const std::vector<BranchRegion> cells = branch_regions(load_network("amoebanet_d"));
  EXPECT_GE(cells.size(), 18U);
}

/// Layers of a region are its own, and nothing outside reads what is between.
TEST(BranchRegions, AreApartAndClosed) {
  for (const std::string_view name :
       {"t5_base", "inception_v3", "inception_v4", "googlenet", "amoebanet_d", "resnext101_32x4d",
        "transformer_xl_base", "densenet121", "unet", "mixtral_8x7b"}) {
    const Network network = load_network(name);
    std::set<LayerId> seen;
    for (const BranchRegion& region : branch_regions(network)) {
      const std::set<LayerId> inside(region.layers.begin(), region.layers.end());
      EXPECT_GE(region.most_ways, 1) << name;
      for (const LayerId id : region.layers) {
        EXPECT_TRUE(seen.insert(id).second) << name << ": " << network.layer(id).name;
        if (id == region.exit) continue;
        for (const LayerId reader : network.consumers(id)) {
          EXPECT_TRUE(inside.contains(reader) || reader == region.exit)
              << name << ": " << network.layer(id).name;
        }
      }
      for (const LayerId entry : region.entries) EXPECT_FALSE(inside.contains(entry));
    }
  }
}

/// A rank has its part of the products; parameters of branches and work divide by the ways.
TEST(BranchNetworks, HaveTheirPartOfProducts) {
  for (const std::string_view name : {"t5_base", "bert_base", "llama2_7b", "resnext50_32x4d"}) {
    const Network network = load_network(name);
    const std::vector<BranchRegion> regions = branch_regions(network);
    const Network part = branch_network(network, regions, 2);
    ASSERT_EQ(part.layers().size(), network.layers().size()) << name;
    for (const BranchRegion& region : regions) {
      for (const LayerId id : region.layers) {
        EXPECT_EQ(2 * part.layer(id).weight_count(), network.layer(id).weight_count())
            << name << ": " << network.layer(id).name;
        EXPECT_EQ(2 * part.layer(id).forward_macs(), network.layer(id).forward_macs())
            << name << ": " << network.layer(id).name;
      }
      EXPECT_EQ(part.layer(region.exit).output, network.layer(region.exit).output);
    }
  }
}

std::string refusal(std::string_view name, int ranks, int branches) {
  const Network network = load_network(name);
  try {
    check_branches(network, branch_regions(network), ranks, branches);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(Branches, AreRefusedWithASentence) {
  EXPECT_EQ(refusal("t5_large", 64, 8), "");
  EXPECT_EQ(refusal("inception_v4", 64, 4), "");
  EXPECT_NE(refusal("vgg16", 64, 2).find("Use data parallelism."), std::string::npos);
  EXPECT_NE(refusal("t5_large", 96, 3).find("Write a divisor of 16."), std::string::npos);
  EXPECT_NE(refusal("t5_large", 30, 4).find("Write a divisor of the ranks."), std::string::npos);
  EXPECT_NE(refusal("inception_v4", 64, 16).find("or less."), std::string::npos);
}

}  // namespace
}  // namespace dlscale::model
