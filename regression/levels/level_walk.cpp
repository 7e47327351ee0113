#include "regression/levels/level_walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/base/error.hpp"
#include "regression/levels/straight_line.hpp"
#include "regression/statistics/sign_test.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t least_known = 10;   // points without which the noise is unknown
constexpr std::size_t least_before = 5;   // points of a first level
constexpr std::size_t least_after = 5;    // points that show a change of level by their mean
constexpr double newest_threshold = 3.5;  // T of the smallest distance of the latest points
constexpr double chance_of_spikes = 5e-5;
constexpr double spike = 5;  // standard deviations
/// Number of points farther out that is assumed where there were no spikes.
constexpr double unseen_spikes = 0.14;
/// Share of a distance, and the standard deviations that it has to exceed, beyond which points are
/// at the other of two levels.
constexpr double at_other = 0.75;
constexpr double clearly = 3;
constexpr std::size_t least_runs = 2;  // runs that show a change of the latest points
constexpr double scattered = 4.5;      // standard deviations between few points of one level

std::vector<double> values_of(std::span<const LogPoint> points) {
  std::vector<double> values;
  values.reserve(points.size());
  for (const LogPoint& point : points) values.push_back(point.value);
  return values;
}

}  // namespace

LevelWalk::LevelWalk(std::span<const LogPoint> points, const ChangePointRule& rule)
    : points_(points),
      x_(values_of(points)),
      margin_(std::log1p(rule.margin)),
      newest_(std::log1p(rule.newest_margin)),
      latest_(x_),
      begin_(x_),
      close_(x_) {}

double LevelWalk::median_of(std::size_t first, std::size_t end) {
  const std::span<const double> points = points_of(first, end);
  scratch_.assign(points.begin(), points.end());
  return quick_median(scratch_);
}

double LevelWalk::location_of(std::size_t first, std::size_t end, double limit) {
  return location_about(median_of(first, end), first, end, limit);
}

double LevelWalk::location_about(double centre, std::size_t first, std::size_t end,
                                 double limit) const {
  const std::span<const double> x = points_of(first, end);
  const double sum =
      sum_in_chains(x.size(), [&](std::size_t i) { return clipped(x[i] - centre, limit); });
  return centre + sum / static_cast<double>(x.size());
}

/// Appends the residuals of a level about its median. Few points lie too near to their own median.
void LevelWalk::add_residuals(std::size_t first, std::size_t end, double centre,
                              LevelResiduals& all) const {
  if (end - first < 3) return;
  const auto n = static_cast<double>(end - first);
  const double widen = std::sqrt(n / (n - 1));
  const std::span<double> values = all.add(end - first);
  for (std::size_t i = first; i < end; ++i) values[i - first] = (x_[i] - centre) * widen;
}

/// Likewise of points on a line, about that.
void LevelWalk::add_line_residuals(std::size_t first, std::size_t end, LevelResiduals& all) const {
  const std::span<const double> x = points_of(first, end);
  const StraightLine line = resistant_line(x);
  const auto n = static_cast<double>(x.size());
  const double widen = std::sqrt(n / (n - 2));
  const std::span<double> values = all.add(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) values[i] = (x[i] - line.at(i)) * widen;
}

/// Requires that `first` and `end` do not go back from split to split.
LevelWalk::Split LevelWalk::split_at(std::size_t first, std::size_t place, std::size_t end) {
  latest_.move_to(first, end);
  const SortedWindow::Medians medians = latest_.medians_at(place);
  return {first, place, end, medians.before, medians.after};
}

/// Takes the residuals about a split level, and about the earlier ones.
void LevelWalk::take_residuals(const Split& split) {
  residuals_ = known_;
  add_residuals(split.first, split.place, split.before, residuals_);
  add_residuals(split.place, split.end, split.after, residuals_);
}

NoiseOfLevels LevelWalk::noise_of(const Split& split) {
  take_residuals(split);
  return residuals_.noise();
}

/// The noise about a line, and about the earlier levels.
NoiseOfLevels LevelWalk::noise_about_line(std::size_t first, std::size_t end) {
  residuals_ = known_;
  add_line_residuals(first, end, residuals_);
  return residuals_.noise();
}

/// The split of a level at which the clipped sums stand out most.
std::size_t LevelWalk::guess(std::size_t first, std::size_t least, std::size_t end) {
  latest_.move_to(first, end);
  const double centre = latest_.median();
  const std::span<const double> x = points_of(first, end);
  const auto n = static_cast<double>(x.size());
  const double sizes =
      sum_in_chains(x.size(), [&](std::size_t i) { return std::abs(x[i] - centre); });
  const double limit = clip * scale_of(latest_.median_distance(centre), sizes / n, x.size());
  // sums_[i]: of the points from the i-th on.
  sums_.resize(x.size());
  double sum = 0;
  for (std::size_t i = x.size(); i-- > 0;) sums_[i] = sum += clipped(x[i] - centre, limit);
  const double mean = sum / n;
  double most = -1;
  std::size_t best = 0;
  for (std::size_t i = x.size() - least_after; i >= least; --i) {
    const auto k = static_cast<double>(x.size() - i);
    const double beyond = sums_[i] - mean * k;
    const double pairs = k * (n - k);
    if (beyond * beyond <= most * pairs) continue;
    most = beyond * beyond / pairs;
    best = i;
  }
  return first + best;
}

/// The likely places of a change between two known levels.
FoundChange LevelWalk::place_between(std::size_t first, std::size_t least, std::size_t end,
                                     double before, double after, const NoiseOfLevels& noise) {
  const double limit = clip * noise.scale;
  const auto loss = [limit](double residual) {
    const double size = std::abs(residual);
    return size <= limit ? residual * residual : limit * (2 * size - limit);
  };
  costs_.assign(end - first + 1, 0.0);
  double cost = 0;
  for (std::size_t i = first; i < end; ++i) {
    costs_[i - first] = cost;
    cost += loss(x_[i] - before) - loss(x_[i] - after);
  }
  costs_[end - first] = cost;
  std::size_t best = first + least;
  for (std::size_t i = first + least; i < end; ++i) {
    if (costs_[i - first] < costs_[best - first]) best = i;
  }
  const double reach = likely * noise.variance * inflation(noise.correlation, 1e6);
  FoundChange found{.place = best, .earliest = best, .latest = best};
  for (std::size_t i = first + least; i < end; ++i) {
    if (costs_[i - first] > costs_[best - first] + reach) continue;
    found.earliest = std::min(found.earliest, i);
    found.latest = std::max(found.latest, i);
  }
  return found;
}

/// Difference that rounding may make between two equal levels: the largest of either side.
double LevelWalk::rounding_at(std::size_t first, std::size_t place, std::size_t end,
                              bool upward) const {
  double before = 0;
  double after = 0;
  for (std::size_t i = first; i < place; ++i) {
    before = std::max(before, upward ? points_[i].above : points_[i].below);
  }
  for (std::size_t i = place; i < end; ++i) {
    after = std::max(after, upward ? points_[i].below : points_[i].above);
  }
  return before + after;
}

/// Whether so many of the earlier residuals are as far out on this side that the points are spikes.
/// A history that had spikes may have a larger one next.
bool LevelWalk::are_spikes(double distance, double sign, const NoiseOfLevels& noise,
                           std::size_t points) const {
  double as_far = 0;
  bool had_spikes = false;
  for (const double residual : residuals_.values()) {
    as_far += sign * residual >= distance ? 1 : 0;
    had_spikes = had_spikes || sign * residual > spike * noise.scale;
  }
  as_far += had_spikes ? 1 : unseen_spikes;
  const double share = as_far / (static_cast<double>(residuals_.values().size()) + 1);
  return std::pow(share, static_cast<double>(points)) > chance_of_spikes;
}

/// Whether the latest points lie farther apart than at one level, and the distance of the nearest
/// does not make up for it.
bool LevelWalk::are_scattered(std::size_t place, std::size_t end, double distance,
                              const NoiseOfLevels& noise) const {
  const auto [low, high] = std::ranges::minmax(points_of(place, end));
  return high - low > scattered * noise.scale && distance < 2 * (high - low);
}

std::size_t LevelWalk::runs_of(std::size_t place, std::size_t end) const {
  std::size_t runs = 0;
  for (std::size_t i = place; i < end; ++i)
    runs += std::max<std::size_t>(1, points_[i].runs.size());
  return runs;
}

/// Runs that are beyond the margin of the latest points; points without runs count as one that is.
std::size_t LevelWalk::runs_beyond(std::size_t place, std::size_t end, double before,
                                   double sign) const {
  std::size_t beyond = 0;
  for (std::size_t i = place; i < end; ++i) {
    beyond += points_[i].runs.empty() ? 1 : 0;
    for (const double run : points_[i].runs) beyond += sign * (run - before) > newest_ ? 1 : 0;
  }
  return beyond;
}

std::optional<FoundChange> LevelWalk::newest_change(std::size_t first, std::size_t least,
                                                    std::size_t end) {
  latest_.move_to(first, end - 1);
  const double centre = latest_.median();
  if (std::abs(x_[end - 1] - centre) <= newest_) return std::nullopt;
  const double sign = x_[end - 1] > centre ? 1 : -1;
  std::size_t place = end - 1;
  while (place > first + least && end - place < least_after - 1 &&
         sign * (x_[place - 1] - centre) > newest_) {
    --place;
  }
  for (; place < end; ++place) {
    if (runs_of(place, end) < least_runs) continue;
    const Split split = split_at(first, place, end);
    const NoiseOfLevels noise = noise_of(split);
    const double before = location_about(split.before, first, place, clip * noise.scale);
    double distance = sign * (x_[place] - before);
    for (std::size_t i = place; i < end; ++i) {
      distance = std::min(distance, sign * (x_[i] - before));
    }
    if (distance <= newest_) continue;
    if (distance - rounding_at(first, place, end, sign > 0) <= newest_) continue;
    if (are_scattered(place, end, distance, noise)) continue;
    const std::size_t beyond = runs_beyond(place, end, before, sign);
    if (beyond < least_runs || 3 * beyond < 2 * runs_of(place, end)) continue;
    const double error =
        std::hypot(noise.error_of_mean(beyond), noise.error_of_mean(place - first));
    if (distance <= noise.quantile(newest_threshold) * error ||
        are_spikes(distance, sign, noise, beyond))
      continue;
    return FoundChange{.place = place, .earliest = place, .latest = place, .upward = sign > 0};
  }
  return std::nullopt;
}

/// Whether a history that was at the later level now and then may be there so often by chance.
bool LevelWalk::is_run_of_other_level(const Split& split, const Shift& shift) const {
  const double sign = shift.after > shift.before ? 1 : -1;
  const double far = at_other * std::abs(shift.after - shift.before);
  if (far <= clearly * noise_.scale) return false;
  const auto is_far = [&](double residual) { return sign * residual >= far; };
  const auto is_there = [&](double value) { return is_far(value - shift.before); };
  const auto seen = std::ranges::count_if(known_.values(), is_far) +
                    std::ranges::count_if(points_of(split.first, split.place), is_there);
  const auto now = std::ranges::count_if(points_of(split.place, split.end), is_there);
  const auto n = static_cast<double>(known_.values().size() + split.place - split.first);
  const double share = (static_cast<double>(seen) + unseen_spikes) / (n + 1);
  return hits_at_least(split.end - split.place, static_cast<std::size_t>(now), share) >
         chance_of_spikes;
}

/// The shift between the levels before and after a place, in its standard errors over what chance
/// may give: a change if its size is above 1.
LevelWalk::Shift LevelWalk::shift_at(const Split& split) {
  noise_ = noise_of(split);
  not_estimated_.reset();
  const double limit = clip * noise_.scale;
  const double before = location_about(split.before, split.first, split.place, limit);
  const double after = location_about(split.after, split.place, split.end, limit);
  const double error = std::hypot(noise_.error_of_mean(split.end - split.place),
                                  noise_.error_of_mean(split.place - split.first));
  const double least = std::max(margin_, noise_.quantile(threshold) * error);
  return {before, after, (after - before) / least};
}

/// Whether the size of shift_at() can be above 1, from bounds that spare its medians: the noise is
/// at least so much, and a wider limit moves a mean by no more than what lies beyond this one.
bool LevelWalk::may_be_shift(const Split& split) {
  constexpr double a_little_below = 0.85;
  take_residuals(split);
  const auto least = residuals_.least_noise(a_little_below * noise_.scale);
  if (!least) return true;
  const double limit = clip * least->scale;
  const auto beyond = [limit](std::span<const double> x, double centre) {
    return sum_in_chains(
               x.size(),
               [&](std::size_t i) { return std::max(0.0, std::abs(x[i] - centre) - limit); }) /
           static_cast<double>(x.size());
  };
  const double before = location_about(split.before, split.first, split.place, limit);
  const double after = location_about(split.after, split.place, split.end, limit);
  const double most = std::abs(after - before) +
                      beyond(points_of(split.first, split.place), split.before) +
                      beyond(points_of(split.place, split.end), split.after);
  const double error =
      std::sqrt(least->variance * (1 / static_cast<double>(split.place - split.first) +
                                   1 / static_cast<double>(split.end - split.place)));
  return most * (1 + order_of_sums) > std::max(margin_, threshold * error);
}

std::optional<FoundChange> LevelWalk::change_of_level(std::size_t first, std::size_t least,
                                                      std::size_t end) {
  if (end - first < least + least_after) return std::nullopt;
  const Split split = split_at(first, guess(first, least, end), end);
  if (!may_be_shift(split)) {
    not_estimated_ = split;
    return std::nullopt;
  }
  const Shift shift = shift_at(split);
  if (std::abs(shift.size) <= 1) return std::nullopt;
  FoundChange found = place_between(first, least, end, shift.before, shift.after, noise_);
  // Outliers shift a mean and no place.
  const Split likeliest = split_at(first, found.place, end);
  if (std::abs(shift_at(likeliest).size) <= 1) return std::nullopt;
  if (is_run_of_other_level(likeliest, shift)) return std::nullopt;
  found.upward = shift.size > 0;
  const double rounding = rounding_at(first, found.place, end, found.upward);
  if (std::abs(shift.after - shift.before) - rounding <= margin_) return std::nullopt;
  return found;
}

std::span<const double> LevelWalk::points_of(std::size_t first, std::size_t end) const {
  return std::span(x_).subspan(first, end - first);
}

std::optional<FoundChange> LevelWalk::look(std::size_t end) {
  const std::size_t first = std::max(start_, end > window ? end - window : 0);
  const std::size_t least = start_ == 0 ? least_before : least_later;
  if (end - first <= least || end - first + known_.values().size() < least_known)
    return std::nullopt;
  if (auto found = newest_change(first, least, end)) return found;
  if (auto found = change_of_level(first, least, end)) return found;
  return drift(first, least, end);
}

/// Estimates the noise of the last split that was looked at.
void LevelWalk::estimate_noise() {
  if (not_estimated_) noise_ = noise_of(*not_estimated_);
  not_estimated_.reset();
}

void LevelWalk::begin_level(const FoundChange& change) {
  estimate_noise();
  const std::size_t place = change.place;
  const std::size_t first = std::max(start_, place > window ? place - window : 0);
  if (change.is_drift) {
    add_line_residuals(first, place, known_);
  } else {
    add_residuals(first, place, median_of(first, place), known_);
  }
  known_.keep_latest(window);
  start_ = place;
}

std::vector<FoundChange> LevelWalk::walk() {
  std::vector<FoundChange> all;
  for (std::size_t end = 1; end <= x_.size(); ++end) {
    auto found = look(end);
    if (!found) continue;
    found->found = end - 1;
    found->goes_on = goes_on(*found, all, end);
    begin_level(*found);
    all.push_back(*found);
  }
  estimate_noise();
  return all;
}

}  // namespace dlscale::regression
