#include "report/comparison/ratio.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/statistics/student_t.hpp"

namespace dlscale::report {
namespace {

constexpr std::size_t enough_repeats = 5;
constexpr std::size_t enough_samples = 5;
constexpr int ratio_draws = 1000;
constexpr std::uint64_t first_seed = 20240501;

std::size_t sample_count(const Repeats& repeats) {
  std::size_t total = 0;
  for (const auto& samples : repeats) total += samples.size();
  return total;
}

std::vector<double> pooled(const Repeats& repeats) {
  std::vector<double> all;
  for (const auto& samples : repeats) all.insert(all.end(), samples.begin(), samples.end());
  return all;
}

std::vector<double> log_medians(const Repeats& repeats) {
  std::vector<double> medians;
  for (const auto& samples : repeats) medians.push_back(std::log(median(samples)));
  return medians;
}

/// A seed from the samples alone: A and B draw independently, and each draws the same on either
/// side.
std::uint64_t seed_of(const Repeats& repeats) {
  std::uint64_t hash = first_seed;
  for (const auto& samples : repeats) {
    for (const double sample : samples) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(sample)) * 0x100000001b3U;  // FNV-1a's prime
    }
  }
  return hash;
}

/// Draws portably: the numbers of std::uniform_int_distribution differ between standard libraries.
std::size_t draw_below(std::mt19937_64& generator, std::size_t limit) {
  return static_cast<std::size_t>(generator() % limit);
}

/// Draws medians of samples that resemble those of some repeats. Samples are counted by their
/// ranks, since sorting each draw would take ten times as long.
class MedianDraws {
 public:
  explicit MedianDraws(const Repeats& repeats)
      : values_(pooled(repeats)), generator_(seed_of(repeats)) {
    std::ranges::sort(values_);
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    counts_.resize(values_.size());
    for (const std::vector<double>& samples : repeats) {
      const auto n = static_cast<double>(samples.size());
      Ranks& ranks = repeats_.emplace_back();
      ranks.block = static_cast<std::size_t>(std::ceil(std::cbrt(n)));
      for (const double sample : samples) {
        ranks.all.push_back(std::ranges::lower_bound(values_, sample) - values_.begin());
      }
    }
  }

  double draw() {
    std::ranges::fill(counts_, 0);
    std::size_t total = 0;
    for (std::size_t k = 0; k < repeats_.size(); ++k) {
      const Ranks& ranks = repeats_[draw_below(generator_, repeats_.size())];
      draw_blocks(ranks);
      total += ranks.all.size();
    }
    return total % 2 == 1 ? value_at(total / 2)
                          : std::midpoint(value_at(total / 2 - 1), value_at(total / 2));
  }

 private:
  struct Ranks {
    std::vector<std::size_t> all;
    std::size_t block = 1;
  };
  /// Circular blocks of n^(1/3) successive samples keep most of their correlation
  /// (Politis & Romano 1992; Hall, Horowitz & Jing 1995 for the exponent).
  void draw_blocks(const Ranks& ranks) {
    const std::size_t n = ranks.all.size();
    for (std::size_t taken = 0; taken < n;) {
      std::size_t at = draw_below(generator_, n);
      for (std::size_t i = 0; i < ranks.block && taken < n; ++i, ++taken) {
        ++counts_[ranks.all[at]];
        if (++at == n) at = 0;
      }
    }
  }
  /// The drawn sample at this place of their order.
  [[nodiscard]] double value_at(std::size_t place) const {
    std::size_t rank = 0;
    for (std::size_t below = counts_[0]; below <= place; below += counts_[rank]) ++rank;
    return values_[rank];
  }

  std::vector<double> values_;  ///< distinct, in their order
  std::vector<std::size_t> counts_;
  std::vector<Ranks> repeats_;
  std::mt19937_64 generator_;
};

std::vector<double> bootstrap_log_medians(const Repeats& repeats) {
  MedianDraws draws(repeats);
  std::vector<double> medians;
  medians.reserve(ratio_draws);
  for (int i = 0; i < ratio_draws; ++i) medians.push_back(std::log(draws.draw()));
  return medians;
}

/// The distribution of Mann-Whitney's U for n and m values from one distribution.
class MannWhitney {
 public:
  MannWhitney(int n, int m) : n_(n), m_(m) {
    if (static_cast<double>(n) * m <= most_exact) count_arrangements();
  }

  /// The largest k with P(U ≤ k) ≤ `tail`; -1 if even P(U = 0) is more.
  [[nodiscard]] int trim(double tail) const {
    if (arrangements_.empty()) {
      constexpr double as_good_as_normal = 1e9;  // degrees of freedom
      const double quantile = regression::student_t_quantile(1 - tail, as_good_as_normal);
      return std::max(-1, static_cast<int>(mean() - quantile * deviation() - 0.5));
    }
    const double most = tail * total();
    double below = 0;
    int trim = -1;
    while (below + arrangements_[trim + 1] <= most) below += arrangements_[++trim];
    return trim;
  }

  /// P(U ≤ u).
  [[nodiscard]] double share_up_to(std::ptrdiff_t u) const {
    if (arrangements_.empty()) {
      return std::erfc((mean() - static_cast<double>(u) - 0.5) / deviation() / std::sqrt(2)) / 2;
    }
    return std::accumulate(arrangements_.begin(), arrangements_.begin() + u + 1, 0.0) / total();
  }

 private:
  /// Counting takes (n m)^2 / 4 additions and overflows for 515 and 515 values. The normal
  /// approximation with continuity correction is within a hundredth of P here.
  static constexpr int most_exact = 50 * 50;

  /// Counts the arrangements with U = 0, 1, …
  void count_arrangements() {
    // counts[i][u]: arrangements of i first and j second values with U = u, for j = 0 … m in turn.
    const std::size_t top = static_cast<std::size_t>(n_) * m_;
    std::vector<std::vector<double>> counts(n_ + 1, std::vector<double>(top + 1, 0));
    for (auto& row : counts) row[0] = 1;
    for (int j = 1; j <= m_; ++j) {
      for (int i = 1; i <= n_; ++i) {
        for (int u = i * j; u >= j; --u) counts[i][u] += counts[i - 1][u - j];
      }
    }
    arrangements_ = std::move(counts[n_]);
  }
  [[nodiscard]] double total() const {
    return std::accumulate(arrangements_.begin(), arrangements_.end(), 0.0);
  }
  [[nodiscard]] double mean() const { return 0.5 * n_ * m_; }
  [[nodiscard]] double deviation() const { return std::sqrt(n_ * (m_ / 12.0) * (n_ + m_ + 1)); }

  int n_;
  int m_;
  std::vector<double> arrangements_;  ///< empty: too many to count
};

/// Number of logarithms ≤ `limit`; not_below() counts those ≥ −`limit`.
std::ptrdiff_t not_above(const std::vector<double>& differences, double limit) {
  return std::ranges::count_if(differences, [limit](double each) { return each <= limit; });
}
std::ptrdiff_t not_below(const std::vector<double>& differences, double limit) {
  return std::ranges::count_if(differences, [limit](double each) { return each >= -limit; });
}

/// ln(1 + margin), and further by what rounding allows; and how often an end of the interval may
/// miss.
struct Limits {
  double larger = 0;
  double smaller = 0;
  double tail = 0.025;
};

/// All differences of a logarithm of B and one of A, in their order. They are counted and not kept,
/// since there may be 10^8 of them.
class Differences {
 public:
  Differences(std::vector<double> log_a, std::vector<double> log_b)
      : a_(std::move(log_a)), b_(std::move(log_b)) {
    std::ranges::sort(a_);
    std::ranges::sort(b_);
  }
  [[nodiscard]] std::size_t size() const { return a_.size() * b_.size(); }
  /// Number of differences ≤ `limit`.
  [[nodiscard]] std::size_t not_above(double limit) const {
    std::size_t count = 0;
    std::size_t below = 0;  // falls with a smaller a
    for (const double a : a_) {
      while (below < b_.size() && b_[below] - a <= limit) ++below;
      count += below;
    }
    return count;
  }
  /// Number of differences ≥ `limit`.
  [[nodiscard]] std::size_t not_below(double limit) const {
    return size() - not_above(std::nextafter(limit, -std::numeric_limits<double>::infinity()));
  }
  /// The difference at this place of the order, from 0: by bisection between two that are known.
  [[nodiscard]] double at(std::size_t place) const {
    double low = std::nextafter(b_.front() - a_.back(), -std::numeric_limits<double>::infinity());
    double high = b_.back() - a_.front();
    while (true) {
      const double next = least_above(low);
      if (not_above(next) > place) return next;
      low = next;
      const double middle = std::midpoint(low, high);
      (not_above(middle) > place ? high : low) = middle;
    }
  }
  [[nodiscard]] double median() const {
    const std::size_t half = size() / 2;
    return size() % 2 == 1 ? at(half) : std::midpoint(at(half - 1), at(half));
  }

 private:
  [[nodiscard]] double least_above(double limit) const {
    double least = std::numeric_limits<double>::infinity();
    std::size_t first = 0;
    for (const double a : a_) {
      while (first < b_.size() && b_[first] - a <= limit) ++first;
      if (first < b_.size()) least = std::min(least, b_[first] - a);
    }
    return least;
  }

  std::vector<double> a_;
  std::vector<double> b_;
};

/// Absent where so few launches have no interval that misses as rarely, whatever their times are.
std::optional<Ratio> from_repeats(const Repeats& a, const Repeats& b, const Limits& limits) {
  if (a.size() < enough_repeats || b.size() < enough_repeats) return {};
  const MannWhitney by_chance(static_cast<int>(a.size()), static_cast<int>(b.size()));
  const int trimmed = by_chance.trim(limits.tail);
  if (trimmed < 0) return {};
  const auto trim = static_cast<std::size_t>(trimmed);
  const Differences differences(log_medians(a), log_medians(b));
  return Ratio{
      std::exp(differences.median()),
      std::exp(differences.at(trim)),
      std::exp(differences.at(differences.size() - 1 - trim)),
      fmt::format("{} and {} repeats", a.size(), b.size()),
      by_chance.share_up_to(static_cast<std::ptrdiff_t>(differences.not_above(limits.larger))),
      by_chance.share_up_to(static_cast<std::ptrdiff_t>(differences.not_below(-limits.smaller)))};
}

/// Mean of the logarithms of the launches' medians, the variance of that mean, and its degrees of
/// freedom.
struct MeanOfLaunches {
  explicit MeanOfLaunches(const Repeats& repeats) {
    const std::vector<double> logs = log_medians(repeats);
    const auto n = static_cast<double>(logs.size());
    mean = std::accumulate(logs.begin(), logs.end(), 0.0) / n;
    for (const double log : logs) variance += (log - mean) * (log - mean);
    variance /= (n - 1) * n;
    freedom = n - 1;
  }
  double mean = 0;
  double variance = 0;
  double freedom = 1;
};

/// Welch's t interval: a bootstrap of 2 to 4 launches would miss the truth in 7 to 31 % of cases.
Ratio from_few_launches(const Repeats& a, const Repeats& b, const Limits& limits) {
  const MeanOfLaunches of_a(a);
  const MeanOfLaunches of_b(b);
  const double difference = of_b.mean - of_a.mean;
  const double variance = of_a.variance + of_b.variance;
  const std::string method =
      fmt::format("t interval of {} and {} launches", a.size(), b.size());
  if (!(variance > 0)) {  // samples of few digits; the interval of rounding is added to it
    const double value = std::exp(difference);
    return {value, value, value, method, difference > limits.larger ? 0.0 : 1.0,
            -difference > limits.smaller ? 0.0 : 1.0};
  }
  const double freedom = variance * variance /
                         (of_a.variance * of_a.variance / of_a.freedom +
                          of_b.variance * of_b.variance / of_b.freedom);
  const double error = std::sqrt(variance);
  const double reach = regression::student_t_quantile(1 - limits.tail, freedom) * error;
  const auto beyond = [&](double distance) {
    return 1 - regression::student_t_probability(distance / error, freedom);
  };
  return {std::exp(difference),
          std::exp(difference - reach),
          std::exp(difference + reach),
          method,
          beyond(difference - limits.larger),
          beyond(-difference - limits.smaller)};
}

Ratio from_samples(const Repeats& a, const Repeats& b, const Limits& limits) {
  const std::vector<double> log_a = bootstrap_log_medians(a);
  std::vector<double> differences = bootstrap_log_medians(b);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= log_a[i];
  std::ranges::sort(differences);
  const double value = std::log(median(pooled(b))) - std::log(median(pooled(a)));
  const double low = std::min(value, quantile(differences, limits.tail));
  const double high = std::max(value, quantile(differences, 1 - limits.tail));
  const auto share = [](std::ptrdiff_t count) {
    return static_cast<double>(std::max<std::ptrdiff_t>(count, 1)) / ratio_draws;
  };
  return {std::exp(value),
          std::exp(low),
          std::exp(high),
          fmt::format("bootstrap of {} and {} samples from {} and {} repeats", sample_count(a),
                      sample_count(b), a.size(), b.size()),
          share(not_above(differences, limits.larger)),
          share(not_below(differences, limits.smaller))};
}

Ratio exact_ratio(const Repeats& a, const Repeats& b, const Limits& limits) {
  if (const auto ratio = from_repeats(a, b, limits)) return *ratio;
  if (a.size() > 1 && b.size() > 1) return from_few_launches(a, b, limits);
  if (sample_count(a) >= enough_samples && sample_count(b) >= enough_samples) {
    return from_samples(a, b, limits);
  }
  const double value = median(pooled(b)) / median(pooled(a));
  return {value, value, value, "", 1, 1};
}

}  // namespace

Ratio ratio_of_medians(const Repeats& a, const Repeats& b, double margin,
                       const regression::LogRounding& rounding, int comparisons) {
  EXPECT(sample_count(a) > 0 && sample_count(b) > 0 && margin >= 0 && comparisons >= 1);
  const double limit = std::log1p(margin);
  const double tail = 0.025 / comparisons;
  Ratio ratio = exact_ratio(a, b, {limit + rounding.down, limit + rounding.up, tail});
  ratio.low *= std::exp(-rounding.down);
  ratio.high *= std::exp(rounding.up);
  return ratio;
}

int mann_whitney_trim(int n, int m) {
  EXPECT(n >= 4 && m >= 4);
  return MannWhitney(n, m).trim(0.025);
}

}  // namespace dlscale::report
