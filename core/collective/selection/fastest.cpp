#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/collective/selection/selection.hpp"

namespace dlscale::collective {
namespace {

constexpr double most_segments = 1 << 30;

Settings with(Settings settings, int segments) {
  settings.segments = segments;
  return settings;
}

}  // namespace

/// Closed forms in k segments are sums of terms in 1, k and 1/k, hence convex: T is minimal at the
/// first k after which it does not decrease.
int best_segments(const Algorithm& algorithm, const Links& links, const Settings& settings, Bytes m,
                  Bytes element) {
  EXPECT(element.si() > 0 && element <= m);
  if (!algorithm.traits.segments) return 1;
  const auto time = [&](int k) { return algorithm.cost(links, with(settings, k), m); };
  int first = 1;
  int last = static_cast<int>(std::min(most_segments, std::floor(m / element)));
  while (first < last) {
    const int middle = first + (last - first) / 2;
    if (time(middle) <= time(middle + 1)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

Fastest fastest(std::span<const Algorithm* const> among, const Links& links,
                const Settings& settings, Bytes m, Bytes element) {
  Fastest best;
  for (const Algorithm* algorithm : among) {
    if (!obstacle(*algorithm, with(settings, 1)).empty()) continue;
    const int k = best_segments(*algorithm, links, settings, m, element);
    const Seconds time = algorithm->cost(links, with(settings, k), m);
    if (best.algorithm == nullptr || time < best.time) best = {algorithm, k, time};
  }
  return best;
}

}  // namespace dlscale::collective
