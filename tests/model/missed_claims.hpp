#pragma once
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/core/support.hpp"

namespace dlscale::model::test {

/// A published figure, with its prediction as the list of misses shows both.
struct Claim {
  std::string name;  ///< as the list has it
  std::string published;
  std::string predicted;
};

/// The greatest error that a listed miss may have. It may be lowered, and raising it is the
/// decision to predict a published figure worse than before.
struct WorstMiss {
  std::string_view name;
  double error;
};
inline constexpr std::array worst_misses{
    WorstMiss{"torchgpipe, ResNet-101, 2 stages, batch 4096", 0.16},
    WorstMiss{"torchgpipe, ResNet-101, 2 stages, batch 25000", 0.145},
    WorstMiss{"torchgpipe, AmoebaNet-D, 4 stages, batch 360", 0.4},
    WorstMiss{"GEMS, efficiency on 1,024 V100", 0.028},
    WorstMiss{"HyPar-Flow, gain over data parallelism", 0.90},
    WorstMiss{"SUPER, 8 branches on 1,024 V100", 0.04},
    WorstMiss{"vDNN, VGG-16, slower than with memory", 0.135}};

/// Holds the error of a claim to its goal. One that misses it must stand in the list of misses with
/// its present figures, and have an error of worst_misses at most. One that meets it must stand in
/// neither.
inline void expect_met_or_listed(const Claim& claim, double error, double goal) {
  const bool is_met = error <= goal;
  const auto* const worst = std::ranges::find(worst_misses, claim.name, &WorstMiss::name);
  std::ifstream file(DLSCALE_SOURCE_DIR "/docs/explanation/missed-claims.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  testing::Test::RecordProperty(claim.name, claim.predicted);
  if (is_met) {
    EXPECT_EQ(page.find(fmt::format("| {} |", claim.name)), std::string::npos)
        << claim.name << " is met: strike it from docs/explanation/missed-claims.md";
    EXPECT_EQ(worst, worst_misses.end()) << claim.name << " is met: strike it from worst_misses";
    return;
  }
  if (worst == worst_misses.end()) {
    ADD_FAILURE() << claim.name << " is missed by " << error << ": it was met before";
  } else {
    EXPECT_LE(error, worst->error) << claim.name;
  }
  dlscale::test::expect_contains(
      page, fmt::format("| {} | {} | {} |", claim.name, claim.published, claim.predicted));
}

}  // namespace dlscale::model::test
