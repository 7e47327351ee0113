#include "model/machine/measured_level.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

double doublings(int one, int other) {
  return std::abs(std::log2(static_cast<double>(one) / other));
}

}  // namespace

MeasuredLevel::Factors MeasuredLevel::at(int ranks) const {
  EXPECT(ranks >= 1 && !rest.empty());
  const auto above = std::ranges::lower_bound(rest, ranks, {}, &Rest::ranks);
  Rest here = above == rest.end() ? rest.back() : *above;
  if (above != rest.end() && above != rest.begin() && above->ranks != ranks) {
    const Rest& below = *(above - 1);
    const double share = doublings(ranks, below.ranks) / doublings(above->ranks, below.ranks);
    here.added = std::lerp(below.added, above->added, share);
    here.left = std::lerp(below.left, above->left, share);
  }
  return {computing, added * std::exp(here.added), std::exp(here.left)};
}

const MeasuredLevel::Rest& MeasuredLevel::nearest(int ranks) const {
  EXPECT(ranks >= 1 && !rest.empty());
  return *std::ranges::min_element(rest, {},
                                   [&](const Rest& one) { return doublings(one.ranks, ranks); });
}

double MeasuredLevel::distance(int ranks) const {
  return std::min(doublings(ranks, nearest(ranks).ranks), 1.0);
}

}  // namespace dlscale::model
