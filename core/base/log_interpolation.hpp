#pragma once
#include <cmath>
#include <iterator>
#include <map>

#include "core/base/error.hpp"

namespace dlscale {

/// A value > 0 at the place `at` > 0, from known `values` > 0 by their places > 0. The logarithm is
/// linear in that of the place between two known ones, and constant beyond them. Requires values.
inline double log_interpolated(const std::map<double, double>& values, double at) {
  EXPECT(!values.empty());
  const auto above = values.lower_bound(at);
  if (above == values.begin()) return above->second;
  const auto below = std::prev(above);
  if (above == values.end()) return below->second;
  const double share = std::log(at / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, share);
}

}  // namespace dlscale
