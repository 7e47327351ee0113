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

bool MeasuredLevel::is_elsewhere(int ranks) const {
  EXPECT(ranks >= 1 && !rest.empty());
  if (ranks == 1 || rest.back().ranks == 1) return false;
  const bool on_several = ranks > run.ranks_per_node;
  return std::ranges::none_of(rest, [&](const Rest& one) {
    return one.ranks > 1 && (one.ranks > run.ranks_per_node) == on_several;
  });
}

const MeasuredLevel::Rest& MeasuredLevel::given(int ranks) const {
  EXPECT(ranks >= 1 && !rest.empty());
  const auto above = std::ranges::upper_bound(rest, ranks, {}, &Rest::ranks);
  return above == rest.begin() ? *above : *(above - 1);
}

MeasuredLevel::Factors MeasuredLevel::at(int ranks) const {
  EXPECT(ranks >= 1 && !rest.empty());
  if (is_elsewhere(ranks)) {
    return {computing, 1, 1, ranks > run.ranks_per_node ? in_node : Seconds()};
  }
  const auto above = std::ranges::lower_bound(rest, ranks, {}, &Rest::ranks);
  Rest here = above == rest.end() ? rest.back() : *above;
  if (above != rest.end() && above->ranks != ranks) {
    const Rest below = above == rest.begin() ? Rest{} : *(above - 1);
    const double share = doublings(ranks, below.ranks) / doublings(above->ranks, below.ranks);
    here.added = std::lerp(below.added, above->added, share);
    here.left = std::lerp(below.left, above->left, share);
  }
  return {computing, added * std::exp(here.added), std::exp(here.left), {}};
}

double MeasuredLevel::distance(int ranks) const {
  EXPECT(ranks >= 1 && !rest.empty());
  double least = 1;
  for (const Rest& one : rest) least = std::min(least, doublings(one.ranks, ranks));
  return least;
}

}  // namespace dlscale::model
