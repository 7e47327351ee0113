#include "regression/statistics/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/statistics/hodges_lehmann.hpp"
#include "regression/statistics/segment_costs.hpp"

namespace dlscale::regression {
namespace {

/// Ends of the segments; the last end is n, so {n} is one level.
using Ends = std::vector<std::size_t>;

/// Differences of logarithms below this are rounding errors. The logarithm in the objective needs a
/// floor, which constant data reach.
constexpr double rounding = 1e-13;

/// The best segmentations into 1, 2, … segments of at least `least` points each.
std::vector<Ends> best_segmentations(const SegmentCosts& cost, std::size_t n, std::size_t least,
                                     std::size_t most_segments) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const std::size_t segments = std::min(most_segments, n / least);
  std::vector<std::vector<double>> best(segments, std::vector<double>(n + 1, never));
  std::vector<std::vector<std::size_t>> begin(segments, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t end = least; end <= n; ++end) best[0][end] = cost(0, end);
  for (std::size_t k = 1; k < segments; ++k) {
    for (std::size_t end = (k + 1) * least; end <= n; ++end) {
      for (std::size_t first = k * least; first + least <= end; ++first) {
        const double sum = best[k - 1][first] + cost(first, end);
        if (sum < best[k][end]) {
          best[k][end] = sum;
          begin[k][end] = first;
        }
      }
    }
  }
  std::vector<Ends> all;
  for (std::size_t k = 0; k < segments; ++k) {
    Ends ends{n};
    for (std::size_t i = k; i > 0; --i) ends.push_back(begin[i][ends.back()]);
    std::ranges::reverse(ends);
    all.push_back(ends);
  }
  return all;
}

std::span<const double> segment(std::span<const double> x, const Ends& ends, std::size_t i) {
  const std::size_t first = i == 0 ? 0 : ends[i - 1];
  return x.subspan(first, ends[i] - first);
}

std::vector<double> residuals(std::span<const double> x, const Ends& ends) {
  std::vector<double> all;
  all.reserve(x.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double level = median(segment(x, ends, i));
    for (const double value : segment(x, ends, i)) all.push_back(value - level);
  }
  return all;
}

double innovations(const std::vector<double>& residual, double rho) {
  double sum = std::abs(residual.front());
  for (std::size_t t = 1; t < residual.size(); ++t) {
    sum += std::abs(residual[t] - rho * residual[t - 1]);
  }
  return sum;
}

struct Choice {
  Ends ends;
  double rho = 0;
};

/// The best choice; ties go to fewer changes, then to less autocorrelation.
Choice choose(std::span<const double> x, const std::vector<Ends>& candidates,
              const ChangePointRule& rule) {
  const auto n = static_cast<double>(x.size());
  constexpr int steps_of_rho = 18;
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t changes = 0; changes < candidates.size(); ++changes) {
    const std::vector<double> residual = residuals(x, candidates[changes]);
    const double price = rule.beta * std::log(n) * static_cast<double>(changes);
    for (int step = 0; step <= (rule.autocorrelation ? steps_of_rho : 0); ++step) {
      const double rho = step * 0.05;
      const double sum = std::max(innovations(residual, rho), n * rounding);
      const double objective = n * std::log(sum) + price;
      if (objective >= least) continue;
      least = objective;
      best = {candidates[changes], rho};
    }
  }
  return best;
}

double shift_at(std::span<const double> x, const Ends& ends, std::size_t change) {
  return hodges_lehmann_shift(segment(x, ends, change), segment(x, ends, change + 1));
}

/// Merges the two levels that differ least, until all levels differ by the margin.
void drop_small(std::span<const double> x, double limit, Ends& ends) {
  while (ends.size() > 1) {
    std::size_t smallest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      const double shift = std::abs(shift_at(x, ends, i));
      if (shift < least) {
        least = shift;
        smallest = i;
      }
    }
    if (least >= limit) return;
    ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(smallest));
  }
}

/// Whether enough segments return to an earlier level, within the margin, that the history jumps to
/// and fro.
bool jumps(const std::vector<double>& levels, double limit) {
  constexpr int returns_of_bimodal = 3;
  int returns = 0;
  std::vector<double> known;
  for (const double level : levels) {
    const bool is_known = std::ranges::any_of(
        known, [level, limit](double other) { return std::abs(other - level) <= limit; });
    if (is_known) {
      ++returns;
    } else {
      known.push_back(level);
    }
  }
  return returns >= returns_of_bimodal;
}

/// Largest plausible distance of a median of `points` points from their level: three standard
/// errors for normal data, with the spread of the residuals.
double reach_of_median(const std::vector<double>& residual, std::size_t points) {
  constexpr double mad_of_normal = 1.4826;
  constexpr double error_of_median = 1.2533;  // relative to the error of the mean: √(π / 2)
  std::vector<double> sizes;
  for (const double value : residual) sizes.push_back(std::abs(value));
  return 3 * error_of_median * mad_of_normal * median(sizes) /
         std::sqrt(static_cast<double>(points));
}

/// The levels between which single points jump, even if more often on one side of the change; empty
/// if they do not. "Near a level" is within a quarter of the distance; wider noise would also put
/// points in between.
std::vector<double> modes_at(std::span<const double> before, std::span<const double> after) {
  constexpr std::ptrdiff_t enough = 3;
  constexpr std::ptrdiff_t between_of = 10;
  const double a = median(before);
  const double b = median(after);
  const double near = std::abs(b - a) / 4;
  const double low = std::min(a, b);
  const double high = std::max(a, b);
  const auto at = [near](std::span<const double> x, double level) {
    return std::ranges::count_if(
        x, [near, level](double value) { return std::abs(value - level) <= near; });
  };
  const auto between = [near, low, high](std::span<const double> x) {
    return std::ranges::count_if(
        x, [near, low, high](double value) { return value > low + near && value < high - near; });
  };
  const auto all = static_cast<std::ptrdiff_t>(before.size() + after.size());
  const bool apart = (between(before) + between(after)) * between_of <= all;
  if (!apart || std::min(at(before, b), at(after, a)) < enough) return {};
  return {low, high};
}

/// Usable points in the order of time, with their indices in the caller's list.
struct Usable {
  std::vector<double> x;  ///< ln
  std::vector<std::size_t> index;
};

/// Marks the changes between levels that non-adjacent segments both return to. Returns those
/// levels.
std::vector<double> excuse_segments(const std::vector<double>& levels, double limit,
                                    const std::vector<double>& residual, ChangePoints& result) {
  const auto alike = [&](std::size_t i, std::size_t j) {
    const double reach = std::hypot(reach_of_median(residual, result.segments[i].points),
                                    reach_of_median(residual, result.segments[j].points));
    return std::abs(levels[i] - levels[j]) <= std::max(limit, reach);
  };
  std::vector<bool> is_mode(levels.size(), false);
  std::vector<std::size_t> modes;  // one segment of each mode
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (std::size_t j = 0; j + 1 < i; ++j) {
      if (alike(i, j)) is_mode[i] = is_mode[j] = true;
    }
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto same = [&](std::size_t mode) { return alike(i, mode); };
    if (is_mode[i] && std::ranges::none_of(modes, same)) modes.push_back(i);
  }
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    result.changes[i].between_modes = is_mode[i] && is_mode[i + 1];
  }
  std::vector<double> found;
  for (const std::size_t mode : modes) found.push_back(levels[mode]);
  return found;
}

/// Marks the changes on whose sides single points jump between the same two levels. Also marks
/// changes between such levels. Returns those levels.
std::vector<double> excuse_points(std::span<const double> x, const Ends& ends, double limit,
                                  std::vector<ChangePoint>& changes) {
  std::vector<double> modes;
  const auto is_mode = [&modes, limit](double level) {
    return std::ranges::any_of(
        modes, [level, limit](double mode) { return std::abs(mode - level) <= limit; });
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    for (const double level : modes_at(segment(x, ends, i), segment(x, ends, i + 1))) {
      changes[i].between_modes = true;
      if (!is_mode(level)) modes.push_back(level);
    }
  }
  for (ChangePoint& change : changes) {
    const bool known =
        is_mode(std::log(change.level_before)) && is_mode(std::log(change.level_after));
    change.between_modes = change.between_modes || known;
  }
  return modes;
}

void fill(const Choice& choice, const Usable& usable, double limit, ChangePoints& result) {
  std::vector<double> levels;
  for (std::size_t i = 0; i < choice.ends.size(); ++i) {
    const std::span<const double> part = segment(usable.x, choice.ends, i);
    const std::size_t first = choice.ends[i] - part.size();
    levels.push_back(median(part));
    result.segments.push_back({.first = usable.index[first],
                               .last = usable.index[choice.ends[i] - 1],
                               .points = part.size(),
                               .level = std::exp(levels.back())});
  }
  for (std::size_t i = 0; i + 1 < choice.ends.size(); ++i) {
    result.changes.push_back({.before = result.segments[i].last,
                              .after = result.segments[i + 1].first,
                              .level_before = result.segments[i].level,
                              .level_after = result.segments[i + 1].level,
                              .ratio = std::exp(shift_at(usable.x, choice.ends, i)),
                              .between_modes = false});
  }
  std::vector<double> modes =
      jumps(levels, limit)
          ? excuse_segments(levels, limit, residuals(usable.x, choice.ends), result)
          : excuse_points(usable.x, choice.ends, limit, result.changes);
  std::ranges::sort(modes);
  for (const double mode : modes) result.modes.push_back(std::exp(mode));
}

void check_change_rule(const ChangePointRule& rule) {
  EXPECT(rule.beta > 0 && rule.least_points >= 2 && rule.margin >= 0);
  EXPECT(rule.window >= 2 * rule.least_points);
}

ChangePoints find(Usable usable, const ChangePointRule& rule) {
  ChangePoints result;
  if (usable.x.size() > rule.window) {
    const auto old = static_cast<std::ptrdiff_t>(usable.x.size() - rule.window);
    usable.x.erase(usable.x.begin(), usable.x.begin() + old);
    usable.index.erase(usable.index.begin(), usable.index.begin() + old);
  }
  result.points = usable.x.size();
  if (usable.x.size() < 2 * rule.least_points) return result;
  const double limit = std::log1p(rule.margin);
  // Subtracting the median keeps precision in sums of many logarithms.
  std::vector<double> centred = usable.x;
  const double centre = median(centred);
  for (double& value : centred) value -= centre;
  const SegmentCosts cost(centred);
  Choice choice = choose(
      centred, best_segmentations(cost, centred.size(), rule.least_points, rule.most_changes + 1),
      rule);
  drop_small(centred, limit, choice.ends);
  fill(choice, usable, limit, result);
  result.autocorrelation = choice.rho;
  result.shape = result.changes.empty() ? HistoryShape::steady : HistoryShape::changed;
  if (!result.modes.empty()) result.shape = HistoryShape::bimodal;
  return result;
}

bool is_usable(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

std::string_view history_shape_name(HistoryShape shape) {
  switch (shape) {
    case HistoryShape::too_short:
      return "too short";
    case HistoryShape::steady:
      return "steady";
    case HistoryShape::changed:
      return "changed";
    case HistoryShape::bimodal:
      return "bimodal";
  }
  return "";
}

ChangePoints find_change_points(std::span<const double> values, const ChangePointRule& rule) {
  check_change_rule(rule);
  Usable usable;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!is_usable(values[i])) continue;
    usable.x.push_back(std::log(values[i]));
    usable.index.push_back(i);
  }
  const std::size_t unusable = values.size() - usable.x.size();
  ChangePoints result = find(std::move(usable), rule);
  result.unusable = unusable;
  return result;
}

ChangePoints find_change_points(std::span<const HistoryPoint> points, const ChangePointRule& rule) {
  check_change_rule(rule);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_usable(points[i].value) && std::isfinite(points[i].time)) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [points](std::size_t i) { return points[i].time; });
  Usable usable;
  for (const std::size_t i : order) usable.x.push_back(std::log(points[i].value));
  usable.index = order;
  ChangePoints result = find(std::move(usable), rule);
  result.unusable = points.size() - order.size();
  return result;
}

}  // namespace dlscale::regression
