#include "regression/levels/level_noise.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::regression {
namespace {

constexpr std::size_t least_recent = 8;  // latest residuals that show that the noise has grown
constexpr double grown = 5;              // standard errors of a variance that chance hardly gives
/// Correlation of neighbours, and number of pairs that it counts for, before anything is known.
constexpr double prior_correlation = 0.25;
constexpr double prior_pairs = 10;

/// The variance that so many latest residuals have to exceed, over that of all.
double least_growth(std::size_t recent) {
  return 1 + grown * std::sqrt(2 / static_cast<double>(recent));
}

}  // namespace

double quick_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double inflation(double rho, double k) {
  const double rest = 1 - rho;
  return (1 + rho) / rest - 2 * rho * (1 - std::pow(rho, k)) / (k * rest * rest);
}

double robust_deviation(double median_size, std::size_t count) {
  constexpr double mad_of_normal = 1.4826;
  return mad_of_normal * median_size * (1 + 0.8 / static_cast<double>(count));
}

double scale_of(double median_size, double mean_size, std::size_t count) {
  return std::max({robust_deviation(median_size, count), mean_size / 2, rounding_error});
}

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

std::span<double> LevelResiduals::add(std::size_t count) {
  const std::size_t before = values_.size();
  values_.resize(before + count);
  follows_.resize(before + count, 1);
  if (count > 0) follows_[before] = 0;
  return std::span(values_).last(count);
}

void LevelResiduals::keep_latest(std::size_t most) {
  if (values_.size() <= most) return;
  const auto old = static_cast<std::ptrdiff_t>(values_.size() - most);
  values_.erase(values_.begin(), values_.begin() + old);
  follows_.erase(follows_.begin(), follows_.begin() + old);
}

/// Calls `look` with 8, 16, 32 … and the mean square of so many latest residuals, not clipped.
template <class Look>
void LevelResiduals::each_recent(Look look) const {
  double squares = 0;
  std::size_t counted = 0;
  for (std::size_t recent = least_recent; recent < values_.size(); recent *= 2) {
    const std::span<const double> more = std::span(values_).last(recent).first(recent - counted);
    squares += sum_in_chains(more.size(), [&](std::size_t i) { return more[i] * more[i]; });
    counted = recent;
    look(recent, squares / static_cast<double>(recent) * (1 + order_of_sums));
  }
}

NoiseOfLevels LevelResiduals::noise() {
  const NoiseOfLevels all = noise_since(0);
  NoiseOfLevels noise = all;
  each_recent([&](std::size_t recent, double squares) {
    const double least = std::max(noise.variance, least_growth(recent) * all.variance);
    if (squares <= least) return;
    const NoiseOfLevels latest = noise_since(values_.size() - recent);
    if (latest.variance > least) noise = latest;
  });
  return noise;
}

std::optional<LevelResiduals::Least> LevelResiduals::least_noise(double scale) const {
  const std::size_t n = values_.size();
  if (n == 0) return std::nullopt;
  const double size = scale / robust_deviation(1, n);
  std::size_t smaller = 0;
  for (const double value : values_) smaller += std::abs(value) < size ? 1 : 0;
  const bool is_below_median = 2 * smaller < n;
  const double sizes = sum_in_chains(n, [&](std::size_t i) { return std::abs(values_[i]); });
  const double mean = sizes / static_cast<double>(n);
  Least least;
  least.scale = scale_of(is_below_median ? size : 0, mean, n) * (1 - order_of_sums);
  const double limit = clip * least.scale;
  const double squares = sum_in_chains(n, [&](std::size_t i) {
    const double distance = std::min(std::abs(values_[i]), limit);
    return distance * distance;
  });
  least.variance = squares / static_cast<double>(n) * (1 - order_of_sums);
  bool may_have_grown = false;
  each_recent([&](std::size_t recent, double latest) {
    may_have_grown = may_have_grown || latest > least_growth(recent) * least.variance;
  });
  if (may_have_grown) return std::nullopt;
  return least;
}

NoiseOfLevels LevelResiduals::noise_since(std::size_t first) {
  const std::span<const double> values = std::span(values_).subspan(first);
  const std::span<const unsigned char> follows = std::span(follows_).subspan(first);
  NoiseOfLevels noise;
  if (values.empty()) return noise;
  scratch_.clear();
  double sizes = 0;
  for (const double value : values) {
    scratch_.push_back(std::abs(value));
    sizes += scratch_.back();
  }
  const auto n = static_cast<double>(values.size());
  noise.scale = scale_of(quick_median(scratch_), sizes / n, values.size());
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
  noise.variance = std::max(squares / n, rounding_error * rounding_error);
  // Residuals about their own level look less alike than they are.
  const double prior = prior_pairs * noise.variance;
  const double alike = (products + prior_correlation * prior) / (squares + prior);
  const auto levels = static_cast<double>(std::ranges::count(follows, 0));
  noise.correlation = std::clamp(alike + (1 + 3 * alike) * levels / (n + prior_pairs), 0.0, 0.9);
  const double square = noise.correlation * noise.correlation;
  noise.freedom = std::max(2.0, 0.7 * n * (1 - square) / (1 + square) - levels);
  return noise;
}

}  // namespace dlscale::regression
