#include "regression/levels/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/levels/level_walk.hpp"
#include "regression/levels/straight_line.hpp"
#include "regression/statistics/log_rounding.hpp"

namespace dlscale::regression {
namespace {

/// Ends of the segments; the last end is n, so {n} is one level.
using Ends = std::vector<std::size_t>;

std::span<const double> segment(std::span<const double> x, const Ends& ends, std::size_t i) {
  const std::size_t first = i == 0 ? 0 : ends[i - 1];
  return x.subspan(first, ends[i] - first);
}

std::vector<double> levels_of(std::span<const double> x, const Ends& ends) {
  std::vector<double> levels;
  for (std::size_t i = 0; i < ends.size(); ++i) levels.push_back(median(segment(x, ends, i)));
  return levels;
}

/// Distance within which a level counts as another: an eighth of the smallest jump at its ends.
double blur_of(const std::vector<double>& levels, std::size_t i, double limit) {
  constexpr double share = 8;
  double jump = std::numeric_limits<double>::infinity();
  if (i > 0) jump = std::abs(levels[i] - levels[i - 1]);
  if (i + 1 < levels.size()) jump = std::min(jump, std::abs(levels[i + 1] - levels[i]));
  return std::isfinite(jump) ? std::max(limit, jump / share) : limit;
}

/// Whether enough segments return to an earlier level that the history jumps to and fro.
bool jumps(const std::vector<double>& levels, double limit) {
  constexpr int returns_of_bimodal = 3;
  int returns = 0;
  std::vector<double> known;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const double blur = blur_of(levels, i, limit);
    const bool is_known = std::ranges::any_of(
        known, [&](double other) { return std::abs(other - levels[i]) <= blur; });
    if (is_known) {
      ++returns;
    } else {
      known.push_back(levels[i]);
    }
  }
  return returns >= returns_of_bimodal;
}

/// Largest plausible distance of two medians of one level: three standard errors for normal data,
/// with the spread of the residuals.
class Reach {
 public:
  Reach(std::span<const double> x, const Ends& ends, double least) : least_(least) {
    std::vector<double> sizes;
    sizes.reserve(x.size());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const double level = median(segment(x, ends, i));
      for (const double value : segment(x, ends, i)) sizes.push_back(std::abs(value - level));
      points_.push_back(static_cast<double>(segment(x, ends, i).size()));
    }
    spread_ = median(sizes);
  }
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const {
    constexpr double mad_of_normal = 1.4826;
    constexpr double error_of_median = 1.2533;  // relative to the error of the mean: √(π / 2)
    return std::max(least_, 3 * error_of_median * mad_of_normal * spread_ *
                                std::sqrt(1 / points_[i] + 1 / points_[j]));
  }

 private:
  double least_;
  double spread_ = 0;
  std::vector<double> points_;
};

/// The levels between which single points jump, even if more often on one side of the change; empty
/// if they do not. "Near a level" is within a quarter of the distance; wider noise would also put
/// points in between.
std::vector<double> modes_at(std::span<const double> before, std::span<const double> after) {
  constexpr std::ptrdiff_t between_of = 10;
  // Three, or two of a side that is as short as a week of nights.
  const auto enough = [](std::span<const double> x) -> std::ptrdiff_t {
    return x.size() <= 7 ? 2 : 3;
  };
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
  if (!apart || at(before, b) < enough(before) || at(after, a) < enough(after)) return {};
  return {low, high};
}

/// Marks the changes between levels that non-adjacent segments both return to. Returns those
/// levels.
std::vector<double> excuse_segments(const std::vector<double>& levels, const Reach& reach,
                                    std::span<char> excused) {
  const auto alike = [&](std::size_t i, std::size_t j) {
    const double blur = std::max(reach(i, j), blur_of(levels, i, 0));
    return std::abs(levels[i] - levels[j]) <= blur;
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
    if (is_mode[i] && is_mode[i + 1]) excused[i] = 1;
  }
  std::vector<double> found;
  for (const std::size_t mode : modes) found.push_back(levels[mode]);
  return found;
}

/// Marks the changes on whose sides single points jump between the same two levels. Also marks
/// changes between such levels. Returns those levels.
std::vector<double> excuse_points(std::span<const double> x, const Ends& ends,
                                  const std::vector<double>& levels, double limit,
                                  std::span<char> excused) {
  std::vector<double> modes;
  const auto is_near = [&modes](double level, double blur) {
    return std::ranges::any_of(
        modes, [level, blur](double mode) { return std::abs(mode - level) <= blur; });
  };
  const auto is_mode = [&](std::size_t i) { return is_near(levels[i], blur_of(levels, i, limit)); };
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    for (const double level : modes_at(segment(x, ends, i), segment(x, ends, i + 1))) {
      excused[i] = 1;
      if (!is_near(level, limit)) modes.push_back(level);
    }
  }
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    if (is_mode(i) && is_mode(i + 1)) excused[i] = 1;
  }
  return modes;
}

/// Marks the changes between modes among the latest of the points `x`. Returns the modes.
std::vector<double> excuse(std::span<const double> x, std::span<const FoundChange> changes,
                           double limit, std::span<char> excused) {
  constexpr std::size_t latest = 150;  // what jumped longer ago may have been mended
  const std::size_t start = x.size() > latest ? x.size() - latest : 0;
  x = x.subspan(start);
  while (!changes.empty() && changes.front().place <= start) {
    changes = changes.subspan(1);
    excused = excused.subspan(1);
  }
  Ends ends;
  for (const FoundChange& change : changes) ends.push_back(change.place - start);
  ends.push_back(x.size());
  const std::vector<double> levels = levels_of(x, ends);
  return jumps(levels, limit) ? excuse_segments(levels, Reach(x, ends, limit), excused)
                              : excuse_points(x, ends, levels, limit, excused);
}

/// The levels before the changes: of a drift where it began.
std::vector<double> levels_before(std::span<const double> x, std::span<const FoundChange> changes,
                                  std::vector<double> levels) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const FoundChange& change = changes[i];
    if (!change.is_drift) continue;
    const std::size_t first = change.earliest - 1;
    levels[i] = resistant_line(x.subspan(first, change.place - first)).start;
  }
  return levels;
}

/// Names the later change that took a level back. A change that ended so stays ended, even if the
/// level goes away again.
void mark_returns(std::span<const double> x, const Ends& ends, double least,
                  const std::vector<double>& before, const std::vector<double>& levels,
                  std::span<const FoundChange> found, std::vector<ChangePoint>& changes) {
  for (std::size_t later = 2; later < levels.size(); ++later) {
    // A level is known when the next change is found; what follows does not count.
    const std::size_t known = later < found.size() ? found[later].found + 1 : x.size();
    const Ends until(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(later) + 1);
    const Reach reach(x.first(known), until, least);
    for (std::size_t i = 0; i + 1 < later; ++i) {
      const double sign = changes[i].upward ? 1 : -1;
      const double most = std::min(reach(i, later), std::abs(levels[i + 1] - before[i]) / 2);
      if (changes[i].back == 0 && sign * (levels[later] - before[i]) <= most) {
        changes[i].back = later - 1;
      }
    }
  }
}

/// The usable points as logarithms, with their indices in the caller's list.
struct Usable {
  std::vector<LogPoint> points;
  std::vector<double> x;
  std::vector<std::size_t> index;
};

bool is_usable(double value) {
  return std::isfinite(value) && value > 0;
}

Usable usable_of(std::span<const HistoryPoint> points) {
  Usable usable;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_usable(points[i].value)) continue;
    const double value = points[i].value;
    const LogRounding rounding = log_rounding({value, points[i].rounding});
    LogPoint point{std::log(value), {}, rounding.up, rounding.down};
    for (const double run : points[i].runs) {
      if (points[i].runs.size() > 1 && is_usable(run)) point.runs.push_back(std::log(run));
    }
    usable.x.push_back(point.value);
    usable.points.push_back(std::move(point));
    usable.index.push_back(i);
  }
  return usable;
}

/// Levels, changes and modes.
void fill(const Usable& usable, std::span<const FoundChange> changes, double limit,
          ChangePoints& result) {
  const std::span<const double> x = usable.x;
  const std::vector<std::size_t>& index = usable.index;
  Ends ends;
  for (const FoundChange& change : changes) ends.push_back(change.place);
  ends.push_back(x.size());
  const std::vector<double> levels = levels_of(x, ends);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::size_t points = segment(x, ends, i).size();
    result.segments.push_back({.first = index[ends[i] - points],
                               .last = index[ends[i] - 1],
                               .points = points,
                               .level = std::exp(levels[i])});
  }
  const std::vector<double> before = levels_before(x, changes, levels);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    result.changes.push_back({.before = result.segments[i].last,
                              .after = result.segments[i + 1].first,
                              .earliest = index[changes[i].earliest],
                              .latest = index[changes[i].latest],
                              .found = index[changes[i].found],
                              .level_before = std::exp(before[i]),
                              .level_after = result.segments[i + 1].level,
                              .ratio = std::exp(levels[i + 1] - before[i]),
                              .upward = changes[i].upward,
                              .is_drift = changes[i].is_drift,
                              .goes_on = changes[i].goes_on});
  }
  mark_returns(x, ends, limit, before, levels, changes, result.changes);
}

/// Marks the changes between modes, as each commit at which one was found showed them, and as
/// later ones did, farther and farther apart. A mark stays, so that no alert comes back.
void mark_modes(std::span<const double> x, std::span<const FoundChange> changes, double limit,
                ChangePoints& result) {
  std::vector<char> excused(changes.size(), 0);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    (void)excuse(x.first(changes[i].found + 1), changes.first(i + 1), limit, excused);
    result.changes[i].never_raised = excused[i] != 0;
    const std::size_t next = i + 1 < changes.size() ? changes[i + 1].found : x.size();
    for (std::size_t more = 1; changes[i].found + more < next; more += 1 + more / 3) {
      (void)excuse(x.first(changes[i].found + more + 1), changes.first(i + 1), limit, excused);
    }
  }
  std::vector<char> present(changes.size(), 0);
  std::vector<double> modes = excuse(x, changes, limit, present);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    result.changes[i].between_modes = excused[i] != 0;
  }
  std::ranges::sort(modes);
  for (const double mode : modes) result.modes.push_back(std::exp(mode));
}

}  // namespace

ChangePoints find_change_points(std::span<const HistoryPoint> points, const ChangePointRule& rule) {
  EXPECT(rule.margin >= 0 && rule.newest_margin >= 0);
  const Usable usable = usable_of(points);
  ChangePoints result;
  result.points = usable.x.size();
  result.unusable = points.size() - usable.x.size();
  constexpr std::size_t least = 10;
  if (usable.x.size() < least) return result;
  const double limit = std::log1p(rule.margin);
  LevelWalk walk(usable.points, rule);
  const std::vector<FoundChange> changes = walk.walk();
  fill(usable, changes, limit, result);
  mark_modes(usable.x, changes, limit, result);
  result.autocorrelation = walk.noise().correlation;
  result.shape = result.changes.empty() ? HistoryShape::steady : HistoryShape::changed;
  if (!result.modes.empty()) result.shape = HistoryShape::bimodal;
  return result;
}

ChangePoints find_change_points(std::span<const double> values, const ChangePointRule& rule) {
  std::vector<HistoryPoint> points;
  points.reserve(values.size());
  for (const double value : values) points.push_back({.value = value});
  return find_change_points(points, rule);
}

}  // namespace dlscale::regression
