#include "regression/statistics/level_walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/base/error.hpp"
#include "regression/statistics/sign_test.hpp"
#include "regression/statistics/straight_line.hpp"

namespace dlscale::regression {
namespace {

constexpr std::size_t window = 128;       // latest points of a level that are looked at
constexpr std::size_t least_known = 10;   // points without which the noise is unknown
constexpr std::size_t least_before = 5;   // points of a first level
constexpr std::size_t least_later = 3;    // points of a later level, whose noise is known
constexpr std::size_t least_after = 5;    // points that show a change of level by their mean
constexpr double clip = 2.5;              // standard deviations beyond which a residual is clipped
constexpr double threshold = 4.8;         // T of a change of level
constexpr double newest_threshold = 3.5;  // T of the smallest distance of the latest points
constexpr double chance_of_spikes = 5e-5;
constexpr double spike = 5;  // standard deviations
/// Number of points farther out that is assumed where there were no spikes.
constexpr double unseen_spikes = 0.14;
/// Share of a distance, and the standard deviations that it has to exceed, beyond which points are
/// at the other of two levels.
constexpr double at_other = 0.75;
constexpr double clearly = 3;
constexpr double scattered = 4.5;        // standard deviations between few points of one level
constexpr std::size_t least_recent = 8;  // latest residuals that show that the noise has grown
constexpr double grown = 5;              // standard errors of a variance that chance hardly gives
constexpr double rounding = 1e-12;       // differences of logarithms below are rounding errors
/// Correlation of neighbours, and number of pairs that it counts for, before anything is known.
constexpr double prior_correlation = 0.25;
constexpr double prior_pairs = 10;
/// 2 Δ ln L within which places of a change are likely.
constexpr double likely = 6;
constexpr std::size_t least_drift = 15;  // points that show a line
constexpr double least_slope = 12;       // standard deviations from its begin to its end
/// 2 Δ ln L by which a line has to explain points better than one step does.
constexpr double evidence_of_line = 12;
/// Likewise a level and a line, better than the steps that were found.
constexpr double evidence_of_drift = 8;

double quick_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double clipped(double value, double limit) {
  return std::clamp(value, -limit, limit);
}

/// Variance of the mean of k neighbours over that of one, times k.
double inflation(double rho, double k) {
  const double rest = 1 - rho;
  return (1 + rho) / rest - 2 * rho * (1 - std::pow(rho, k)) / (k * rest * rest);
}

}  // namespace

/// Student's quantile for the level at which a normal one is z [Cornish & Fisher].
double NoiseOfLevels::quantile(double z) const {
  const double cube = z * z * z;
  return z + (cube + z) / (4 * freedom) +
         (5 * cube * z * z + 16 * cube + 3 * z) / (96 * freedom * freedom);
}

double NoiseOfLevels::error_of_mean(std::size_t points) const {
  const auto k = static_cast<double>(points);
  return std::sqrt(variance * inflation(correlation, k) / k);
}

LevelWalk::LevelWalk(std::span<const LogPoint> points, const ChangePointRule& rule)
    : points_(points), margin_(std::log1p(rule.margin)), newest_(std::log1p(rule.newest_margin)) {
  x_.reserve(points.size());
  for (const LogPoint& point : points) x_.push_back(point.value);
}

double LevelWalk::median_of(std::size_t first, std::size_t end) {
  scratch_.assign(x_.begin() + static_cast<std::ptrdiff_t>(first),
                  x_.begin() + static_cast<std::ptrdiff_t>(end));
  return quick_median(scratch_);
}

/// Robust standard deviation of residuals. Half the mean deviation counts where most are equal, as
/// of rounded values.
double LevelWalk::scale_of(std::span<const double> residuals) {
  constexpr double mad_of_normal = 1.4826;
  scratch_.clear();
  double sum = 0;
  for (const double residual : residuals) {
    scratch_.push_back(std::abs(residual));
    sum += scratch_.back();
  }
  const auto n = static_cast<double>(residuals.size());
  return std::max({mad_of_normal * quick_median(scratch_) * (1 + 0.8 / n), sum / n / 2, rounding});
}

double LevelWalk::location_of(std::size_t first, std::size_t end, double limit) {
  const double centre = median_of(first, end);
  double sum = 0;
  for (std::size_t i = first; i < end; ++i) sum += clipped(x_[i] - centre, limit);
  return centre + sum / static_cast<double>(end - first);
}

/// Appends the residuals of a level about its median. Few points lie too near to their own median.
void LevelWalk::add_residuals(std::size_t first, std::size_t end, Residuals& all) {
  if (end - first < 3) return;
  const double centre = median_of(first, end);
  const auto n = static_cast<double>(end - first);
  const double widen = std::sqrt(n / (n - 1));
  for (std::size_t i = first; i < end; ++i) {
    all.values.push_back((x_[i] - centre) * widen);
    all.follows.push_back(i > first ? 1 : 0);
  }
}

/// Likewise of points on a line, about that.
void LevelWalk::add_line_residuals(std::size_t first, std::size_t end, Residuals& all) {
  const std::span<const double> x = points_of(first, end);
  const StraightLine line = resistant_line(x);
  const auto n = static_cast<double>(x.size());
  const double widen = std::sqrt(n / (n - 2));
  for (std::size_t i = 0; i < x.size(); ++i) {
    all.values.push_back((x[i] - line.at(i)) * widen);
    all.follows.push_back(i > 0 ? 1 : 0);
  }
}

/// The noise about a level that is split at `place`, and about the earlier ones.
NoiseOfLevels LevelWalk::noise_of(std::size_t first, std::size_t place, std::size_t end) {
  residuals_ = known_;
  add_residuals(first, place, residuals_);
  add_residuals(place, end, residuals_);
  return noise_of_residuals();
}

/// Likewise about a line, and about the earlier levels.
NoiseOfLevels LevelWalk::noise_about_line(std::size_t first, std::size_t end) {
  residuals_ = known_;
  add_line_residuals(first, end, residuals_);
  return noise_of_residuals();
}

/// The noise of all residuals, or of the latest if that has grown.
NoiseOfLevels LevelWalk::noise_of_residuals() {
  const NoiseOfLevels all = noise_since(0);
  const std::size_t n = residuals_.values.size();
  NoiseOfLevels noise = all;
  for (std::size_t recent = least_recent; recent < n; recent *= 2) {
    const NoiseOfLevels latest = noise_since(n - recent);
    const double least = 1 + grown * std::sqrt(2 / static_cast<double>(recent));
    if (latest.variance > std::max(noise.variance, least * all.variance)) noise = latest;
  }
  return noise;
}

NoiseOfLevels LevelWalk::noise_since(std::size_t first) {
  const std::span<const double> values = std::span(residuals_.values).subspan(first);
  const std::span<const unsigned char> follows = std::span(residuals_.follows).subspan(first);
  NoiseOfLevels noise;
  if (values.empty()) return noise;
  noise.scale = scale_of(values);
  const double limit = clip * noise.scale;
  double squares = 0;
  double products = 0;
  double last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double now = clipped(values[i], limit);
    squares += now * now;
    if (follows[i] != 0) products += now * last;
    last = now;
  }
  const auto n = static_cast<double>(values.size());
  noise.variance = std::max(squares / n, rounding * rounding);
  // Residuals about their own level look less alike than they are.
  const double prior = prior_pairs * noise.variance;
  const double alike = (products + prior_correlation * prior) / (squares + prior);
  const auto levels = static_cast<double>(std::ranges::count(follows, 0));
  noise.correlation = std::clamp(alike + (1 + 3 * alike) * levels / (n + prior_pairs), 0.0, 0.9);
  const double square = noise.correlation * noise.correlation;
  noise.freedom = std::max(2.0, 0.7 * n * (1 - square) / (1 + square) - levels);
  return noise;
}

/// The split of a level at which the clipped sums stand out most.
std::size_t LevelWalk::guess(std::size_t first, std::size_t least, std::size_t end) {
  const double centre = median_of(first, end);
  deviations_.clear();
  for (std::size_t i = first; i < end; ++i) deviations_.push_back(x_[i] - centre);
  const double limit = clip * scale_of(deviations_);
  const auto n = static_cast<double>(end - first);
  double total = 0;
  for (double& value : deviations_) total += value = clipped(value, limit);
  double sum = 0;
  double most = -1;
  std::size_t best = 0;
  for (std::size_t i = end - 1; i >= first + least; --i) {
    sum += deviations_[i - first];
    const auto k = static_cast<double>(end - i);
    if (end - i < least_after) continue;
    const double beyond = sum - total * k / n;
    const double gain = beyond * beyond / (k * (n - k));
    if (gain > most) {
      most = gain;
      best = i;
    }
  }
  return best;
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
  for (const double residual : residuals_.values) {
    as_far += sign * residual >= distance ? 1 : 0;
    had_spikes = had_spikes || sign * residual > spike * noise.scale;
  }
  as_far += had_spikes ? 1 : unseen_spikes;
  const double share = as_far / (static_cast<double>(residuals_.values.size()) + 1);
  return std::pow(share, static_cast<double>(points)) > chance_of_spikes;
}

/// Whether the latest points lie farther apart than at one level, and the distance of the nearest
/// does not make up for it.
bool LevelWalk::are_scattered(std::size_t place, std::size_t end, double distance,
                              const NoiseOfLevels& noise) const {
  const auto [low, high] = std::ranges::minmax(points_of(place, end));
  return high - low > scattered * noise.scale && distance < 2 * (high - low);
}

std::optional<FoundChange> LevelWalk::newest_change(std::size_t first, std::size_t least,
                                                    std::size_t end) {
  const double centre = median_of(first, end - 1);
  if (std::abs(x_[end - 1] - centre) <= newest_) return std::nullopt;
  const double sign = x_[end - 1] > centre ? 1 : -1;
  std::size_t place = end - 1;
  while (place > first + least && end - place < least_after - 1 &&
         sign * (x_[place - 1] - centre) > newest_) {
    --place;
  }
  for (; place < end; ++place) {
    const NoiseOfLevels noise = noise_of(first, place, end);
    const double before = location_of(first, place, clip * noise.scale);
    double distance = sign * (x_[place] - before);
    for (std::size_t i = place; i < end; ++i) {
      distance = std::min(distance, sign * (x_[i] - before));
    }
    if (distance <= newest_) continue;
    if (distance - rounding_at(first, place, end, sign > 0) <= newest_) continue;
    if (are_scattered(place, end, distance, noise)) continue;
    std::size_t runs = 0;
    std::size_t beyond = 0;
    for (std::size_t i = place; i < end; ++i) {
      if (points_[i].runs.empty()) {
        ++runs;
        ++beyond;
      }
      for (const double run : points_[i].runs) {
        ++runs;
        beyond += sign * (run - before) > newest_ ? 1 : 0;
      }
    }
    if (beyond < 2 || 3 * beyond < 2 * runs) continue;
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
bool LevelWalk::is_run_of_other_level(std::size_t first, std::size_t place, std::size_t end,
                                      const Shift& shift) const {
  const double sign = shift.after > shift.before ? 1 : -1;
  const double far = at_other * std::abs(shift.after - shift.before);
  if (far <= clearly * noise_.scale) return false;
  const auto is_far = [&](double residual) { return sign * residual >= far; };
  const auto is_there = [&](double value) { return is_far(value - shift.before); };
  const auto seen = std::ranges::count_if(known_.values, is_far) +
                    std::ranges::count_if(points_of(first, place), is_there);
  const auto now = std::ranges::count_if(points_of(place, end), is_there);
  const auto n = static_cast<double>(known_.values.size() + place - first);
  const double share = (static_cast<double>(seen) + unseen_spikes) / (n + 1);
  return hits_at_least(end - place, static_cast<std::size_t>(now), share) > chance_of_spikes;
}

/// The shift between the levels before and after a place, in its standard errors over what chance
/// may give: a change if its size is above 1.
LevelWalk::Shift LevelWalk::shift_at(std::size_t first, std::size_t place, std::size_t end) {
  noise_ = noise_of(first, place, end);
  const double limit = clip * noise_.scale;
  const double before = location_of(first, place, limit);
  const double after = location_of(place, end, limit);
  const double error =
      std::hypot(noise_.error_of_mean(end - place), noise_.error_of_mean(place - first));
  const double least = std::max(margin_, noise_.quantile(threshold) * error);
  return {before, after, (after - before) / least};
}

std::optional<FoundChange> LevelWalk::change_of_level(std::size_t first, std::size_t least,
                                                      std::size_t end) {
  if (end - first < least + least_after) return std::nullopt;
  const std::size_t place = guess(first, least, end);
  const Shift shift = shift_at(first, place, end);
  if (std::abs(shift.size) <= 1) return std::nullopt;
  FoundChange found = place_between(first, least, end, shift.before, shift.after, noise_);
  // Outliers shift a mean and no place.
  if (std::abs(shift_at(first, found.place, end).size) <= 1) return std::nullopt;
  if (is_run_of_other_level(first, found.place, end, shift)) return std::nullopt;
  found.upward = shift.size > 0;
  const double rounding = rounding_at(first, found.place, end, found.upward);
  if (std::abs(shift.after - shift.before) - rounding <= margin_) return std::nullopt;
  return found;
}

std::span<const double> LevelWalk::points_of(std::size_t first, std::size_t end) const {
  return std::span(x_).subspan(first, end - first);
}

double LevelWalk::loss_of_level(std::size_t first, std::size_t end, double limit) {
  return clipped_loss(points_of(first, end), {location_of(first, end, limit), 0}, limit);
}

double LevelWalk::loss_of_line(std::size_t first, std::size_t end, double limit) {
  if (end - first < least_of_resistant_line) return loss_of_level(first, end, limit);
  const std::span<const double> x = points_of(first, end);
  return clipped_loss(x, clipped_line(x, resistant_line(x), limit), limit);
}

/// A slope of all points of the present level, unless one step explains them nearly as well.
std::optional<FoundChange> LevelWalk::drift(std::size_t first, std::size_t least, std::size_t end) {
  const std::size_t n = end - first;
  if (n < least_drift) return std::nullopt;
  const double apart = median_of(end - n / 3, end) - median_of(first, first + n / 3);
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
  const NoiseOfLevels noise = noise_of(start_, place, end);
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
      change.is_drift ? noise_about_line(start_, end) : noise_of(start_, change.place, end);
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

std::optional<FoundChange> LevelWalk::look(std::size_t end) {
  const std::size_t first = std::max(start_, end > window ? end - window : 0);
  const std::size_t least = start_ == 0 ? least_before : least_later;
  if (end - first <= least || end - first + known_.values.size() < least_known) return std::nullopt;
  if (auto found = newest_change(first, least, end)) return found;
  if (auto found = change_of_level(first, least, end)) return found;
  return drift(first, least, end);
}

void LevelWalk::begin_level(const FoundChange& change) {
  const std::size_t place = change.place;
  const std::size_t first = std::max(start_, place > window ? place - window : 0);
  if (change.is_drift) {
    add_line_residuals(first, place, known_);
  } else {
    add_residuals(first, place, known_);
  }
  if (known_.values.size() > window) {
    const auto old = static_cast<std::ptrdiff_t>(known_.values.size() - window);
    known_.values.erase(known_.values.begin(), known_.values.begin() + old);
    known_.follows.erase(known_.follows.begin(), known_.follows.begin() + old);
  }
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
  return all;
}

}  // namespace dlscale::regression
