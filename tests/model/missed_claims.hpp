#pragma once
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/core/support.hpp"

namespace dlscale::model::test {

/// A published figure, with its prediction as the list of misses shows both.
struct Claim {
  std::string name;  ///< as the list has it
  std::string published;
  std::string predicted;
};

/// Holds a claim to its goal. One that misses it must stand in the list of misses with its present
/// figures, and one that meets it must not.
inline void expect_met_or_listed(const Claim& claim, bool is_met) {
  std::ifstream file(DLSCALE_SOURCE_DIR "/docs/explanation/missed-claims.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  testing::Test::RecordProperty(claim.name, claim.predicted);
  if (is_met) {
    EXPECT_EQ(page.find(fmt::format("| {} |", claim.name)), std::string::npos)
        << claim.name << " is met: strike it from docs/explanation/missed-claims.md";
    return;
  }
  dlscale::test::expect_contains(
      page, fmt::format("| {} | {} | {} |", claim.name, claim.published, claim.predicted));
}

}  // namespace dlscale::model::test
