#include <algorithm>
#include <cmath>

#include "regression/levels/level_walk.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t least_drift = 15;  // points that show a line
constexpr double least_slope = 12;       // standard deviations from its begin to its end
/// 2 Δ ln L by which a line has to explain points better than one step does.
constexpr double evidence_of_line = 12;
/// Likewise a level and a line, better than the steps that were found.
constexpr double evidence_of_drift = 8;

}  // namespace

double LevelWalk::loss_of_level(std::size_t first, std::size_t end, double limit) {
  return clipped_loss(points_of(first, end), {location_of(first, end, limit), 0}, limit);
}

double LevelWalk::loss_of_line(std::size_t first, std::size_t end, double limit) {
  if (end - first < least_of_resistant_line) return loss_of_level(first, end, limit);
  const std::span<const double> x = points_of(first, end);
  return clipped_loss(x, clipped_line(x, resistant_line(x), limit), limit);
}

/// The noise about two levels, which may begin before what is looked at.
NoiseOfLevels LevelWalk::noise_of_levels(std::size_t first, std::size_t place, std::size_t end) {
  return noise_of({first, place, end, median_of(first, place), median_of(place, end)});
}

/// A slope of all points of the present level, unless one step explains them nearly as well.
std::optional<FoundChange> LevelWalk::drift(std::size_t first, std::size_t least, std::size_t end) {
  const std::size_t n = end - first;
  if (n < least_drift) return std::nullopt;
  begin_.move_to(first, first + n / 3);
  close_.move_to(end - n / 3, end);
  const double apart = close_.median() - begin_.median();
  if (std::abs(apart) <= newest_) return std::nullopt;
  const NoiseOfLevels noise = noise_about_line(first, end);
  const double limit = clip * noise.scale;
  const StraightLine line =
      clipped_line(points_of(first, end), resistant_line(points_of(first, end)), limit);
  const double change = std::abs(line.slope) * static_cast<double>(n - 1);
  const bool upward = line.slope > 0;
  if (change <= least_slope * noise.scale) return std::nullopt;
  if (change - rounding_at(first, first + 1, end, upward) <= newest_) return std::nullopt;
  const double error = std::sqrt(
      noise.variance * inflation(noise.correlation, static_cast<double>(n)) / squares_of_places(n));
  if (std::abs(line.slope) <= noise.quantile(threshold) * error) return std::nullopt;
  const std::size_t split = guess(first, least, end);
  const double steps = loss_of_level(first, split, limit) + loss_of_level(split, end, limit);
  const double reach = evidence_of_line * noise.variance * inflation(noise.correlation, 1e6);
  if (clipped_loss(points_of(first, end), line, limit) + reach >= steps) return std::nullopt;
  noise_ = noise;
  not_estimated_.reset();
  const std::size_t place = end - least_later;
  return FoundChange{
      .place = place, .earliest = first + 1, .latest = place, .upward = upward, .is_drift = true};
}

/// Whether a change belongs to one slow drift with the change before.
bool LevelWalk::goes_on(const FoundChange& change, std::span<const FoundChange> earlier,
                        std::size_t end) {
  if (earlier.empty() || earlier.back().upward != change.upward) return false;
  if (!earlier.back().is_drift && !earlier.back().goes_on) {
    return begins_drift(change, earlier, end);
  }
  const std::size_t before = earlier.size() > 1 ? earlier[earlier.size() - 2].place : 0;
  return change.is_drift || follows_drift(before, change.place, end);
}

/// Whether a known drift goes on over the present level and the change at `place`, rather than
/// having ended with a level and a step.
bool LevelWalk::follows_drift(std::size_t before, std::size_t place, std::size_t end) {
  const std::size_t first = std::max(before, start_ > window ? start_ - window : 0);
  const NoiseOfLevels noise = noise_of_levels(start_, place, end);
  const double limit = clip * noise.scale;
  const double reach = likely * noise.variance * inflation(noise.correlation, 1e6);
  const double steps = loss_of_line(first, start_, limit) + loss_of_level(start_, place, limit) +
                       loss_of_level(place, end, limit);
  return loss_of_line(first, end, limit) <= steps + reach;
}

/// Whether a change and the steps before it in the same direction are better explained by a level
/// and a slope from there on. Where the change is a slope itself, as well is enough.
bool LevelWalk::begins_drift(const FoundChange& change, std::span<const FoundChange> steps,
                             std::size_t end) {
  const NoiseOfLevels noise =
      change.is_drift ? noise_about_line(start_, end) : noise_of_levels(start_, change.place, end);
  const double limit = clip * noise.scale;
  double loss = change.is_drift ? loss_of_line(start_, end, limit)
                                : loss_of_level(start_, change.place, limit) +
                                      loss_of_level(change.place, end, limit);
  std::size_t first = start_;
  while (!steps.empty() && steps.back().upward == change.upward) {
    steps = steps.first(steps.size() - 1);
    const std::size_t level = steps.empty() ? 0 : steps.back().place;
    const std::size_t start = std::max(level, first > window ? first - window : 0);
    if (end - start > 2 * window) break;
    loss += loss_of_level(start, first, limit);
    first = start;
    if (start > level) break;
  }
  const double reach = noise.variance * inflation(noise.correlation, 1e6);
  const double ramp = loss_of_ramp(points_of(first, end), limit);
  return change.is_drift ? ramp <= loss + likely * reach : ramp + evidence_of_drift * reach < loss;
}

}  // namespace dlscale::regression
