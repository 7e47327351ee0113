#include "model/roofline/kernels/memory_levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"

namespace dlscale::model {
namespace {

/// Bandwidths in B/s by working set in bytes.
using Curve = std::map<double, double>;

Curve highest_at_each_set(std::span<const MeasuredBandwidth> measured) {
  Curve highest;
  for (const MeasuredBandwidth& point : measured) {
    double& best = highest[point.working_set.si()];
    best = std::max(best, point.bandwidth.si());
  }
  return highest;
}

/// The median of a point and its two neighbours; at an end of the curve, of the three points there.
double median_of_three(const Curve& curve, Curve::const_iterator point) {
  auto first = point == curve.begin() ? point : std::prev(point);
  if (std::next(point) == curve.end()) first = std::prev(first);
  std::array<double, 3> window{};
  std::transform(first, std::next(first, 3), window.begin(),
                 [](const auto& near) { return near.second; });
  std::ranges::sort(window);
  return window[1];
}

/// Removes single sets that were slow or fast by chance. Dips are filled first, so that their
/// neighbours are not taken for peaks; then peaks come down to the higher neighbour.
Curve without_outliers(const Curve& curve) {
  if (curve.size() < 3) return curve;
  Curve filled = curve;
  for (auto point = std::next(curve.begin()); point != std::prev(curve.end()); ++point) {
    filled[point->first] = std::max(point->second, median_of_three(curve, point));
  }
  Curve smooth = filled;
  for (auto point = filled.cbegin(); point != filled.cend(); ++point) {
    smooth[point->first] = std::min(point->second, median_of_three(filled, point));
  }
  return smooth;
}

/// A smaller working set reaches at least the bandwidth of a larger one.
void raise_to_larger_sets(Curve& curve) {
  double reached = 0;
  for (auto point = curve.rbegin(); point != curve.rend(); ++point) {
    reached = point->second = std::max(point->second, reached);
  }
}

/// The lower median: of two values, the one that was fast by chance does not count.
double lower_median(const Curve& curve) {
  std::vector<double> values;
  for (const auto& [set, bandwidth] : curve) values.push_back(bandwidth);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median of the best kind of pass over the working sets of a stretch. A kind that ran at fewer
/// than half as many sets as another does not count.
BytesPerSecond sustained(std::span<const MeasuredBandwidth> measured, double from, double to) {
  std::map<std::string, std::vector<MeasuredBandwidth>> passes;
  for (const MeasuredBandwidth& point : measured) {
    const double set = point.working_set.si();
    if (from <= set && set <= to) passes[point.pass].push_back(point);
  }
  std::vector<Curve> curves;
  std::size_t most = 0;
  for (const auto& [pass, points] : passes) {
    curves.push_back(highest_at_each_set(points));
    most = std::max(most, curves.back().size());
  }
  double best = 0;
  for (const Curve& curve : curves) {
    if (2 * curve.size() >= most) best = std::max(best, lower_median(curve));
  }
  return BytesPerSecond(best);
}

struct Stretch {
  double first;  ///< working set in bytes
  double last;
};

/// The stretches over which the curve stays within `tolerance` of their first point, in order.
std::vector<Stretch> stretches_of(const Curve& curve, double tolerance) {
  std::vector<Stretch> stretches;
  for (auto first = curve.begin(); first != curve.end();) {
    const auto end = std::find_if(first, curve.end(), [&](const auto& point) {
      return point.second < (1 - tolerance) * first->second;
    });
    stretches.push_back({first->first, std::prev(end)->first});
    first = end;
  }
  return stretches;
}

/// Merges a level that is not faster than the next into the next.
void merge_slower_into_next(std::vector<MemoryLevel>& levels) {
  for (std::size_t i = levels.size(); i-- > 1;) {
    if (levels[i - 1].bandwidth <= levels[i].bandwidth) {
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }
}

/// The stretch of the curve that is memory, and the last cache before it.
struct Memory {
  Stretch stretch;
  double cache;  ///< bytes
};

/// Returns nothing if the size of the last cache is not known.
std::optional<Memory> memory_of(const Curve& curve, std::optional<Bytes> last_cache) {
  if (!last_cache) return std::nullopt;
  const auto first = curve.lower_bound(sets_beyond_a_cache * last_cache->si());
  if (first == curve.end()) return std::nullopt;
  return Memory{{first->first, curve.rbegin()->first}, last_cache->si()};
}

MemoryLevel level_over(const Stretch& stretch, std::span<const MeasuredBandwidth> measured,
                       std::string name) {
  return {std::move(name), Bytes(stretch.last), sustained(measured, stretch.first, stretch.last)};
}

}  // namespace

std::vector<MemoryLevel> levels_of(const std::vector<MeasuredBandwidth>& measured,
                                   std::optional<Bytes> last_cache, double tolerance) {
  if (measured.empty()) {
    throw RemediableError(
        "no bandwidth was measured over a range of working sets, so that the levels of the memory "
        "are unknown. Measure them.",
        {.subject = "memory"});
  }
  const Curve highest = highest_at_each_set(measured);
  Curve curve = without_outliers(highest);
  raise_to_larger_sets(curve);
  const std::optional<Memory> memory = memory_of(highest, last_cache);
  if (memory) curve.erase(curve.find(memory->stretch.first), curve.end());
  std::vector<Stretch> stretches = stretches_of(curve, tolerance);
  const Stretch last = memory ? memory->stretch : stretches.back();
  if (!memory) stretches.pop_back();

  std::vector<MemoryLevel> levels;
  for (const Stretch& stretch : stretches) {
    const bool is_plateau = stretch.last >= 2 * stretch.first;
    const bool is_behind = memory && stretch.first > memory->cache;
    if (is_plateau && !is_behind) levels.push_back(level_over(stretch, measured, "cache"));
  }
  levels.push_back(level_over(last, measured, memory ? memory_name : farthest_name));
  merge_slower_into_next(levels);
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    levels[i].name = fmt::format("level {}", i + 1);
  }
  return levels;
}

}  // namespace dlscale::model
