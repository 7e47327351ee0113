#pragma once
#include <algorithm>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model::scaling {

/// A value that counts for `weight` > 0.
struct Weighted {
  double value = 0;
  double weight = 1;
};

/// The q-quantile of weighted values, 0 ≤ q ≤ 1. The i-th value is at the middle of its weight,
///   (w_1 + … + w_(i-1) + w_i / 2) / Σ w.
/// The quantile is linear between values, and the least or the greatest beyond them. For equal
/// weights this is the definition of Hazen (Hyndman & Fan type 5).
inline double weighted_quantile(std::vector<Weighted> values, double q) {
  EXPECT(!values.empty() && q >= 0 && q <= 1);
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) {
    return a.value < b.value || (a.value == b.value && a.weight < b.weight);
  });
  double sum = 0;
  for (const Weighted& one : values) sum += one.weight;
  const double wanted = q * sum;
  double place = 0;  // position of the previous value, in weight
  double below = 0;  // weight of all previous values
  const Weighted* before = nullptr;
  for (const Weighted& one : values) {
    const double here = below + one.weight / 2;
    if (here >= wanted) {
      if (before == nullptr || here == place) return one.value;
      return before->value + (one.value - before->value) * (wanted - place) / (here - place);
    }
    below += one.weight;
    place = here;
    before = &one;
  }
  return values.back().value;
}

}  // namespace dlscale::model::scaling
