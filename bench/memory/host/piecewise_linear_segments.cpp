#include "bench/memory/host/piecewise_linear_segments.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

constexpr double chi_square_95 = 3.84;

std::vector<double> running_median(std::span<const double> y) {
  std::vector<double> smooth(y.begin(), y.end());
  for (std::size_t i = 1; i + 1 < y.size(); ++i) {
    const auto [low, high] = std::minmax(y[i - 1], y[i + 1]);
    smooth[i] = std::clamp(y[i], low, high);
  }
  return smooth;
}

/// Standard deviation of normal noise on a curve that is straight at most points.
double noise_of(std::span<const double> y, double least) {
  if (y.size() < 3) return least;
  constexpr double normal_deviation_of_mad = 1.4826;
  const double of_second_difference = std::sqrt(1.0 + 4.0 + 1.0);
  std::vector<double> bends;
  bends.reserve(y.size());
  for (std::size_t i = 1; i + 1 < y.size(); ++i) {
    bends.push_back(std::abs(y[i - 1] - 2 * y[i] + y[i + 1]));
  }
  return std::max(least, normal_deviation_of_mad * median(bends) / of_second_difference);
}

/// Prefix sums over points, which give the sums of any segment.
class Sums {
 public:
  Sums(std::span<const double> x, std::span<const double> y) : at_(x.size() + 1) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Moments& before = at_[i];
      at_[i + 1] = {before.x + x[i], before.y + y[i], before.xx + x[i] * x[i],
                    before.xy + x[i] * y[i], before.yy + y[i] * y[i]};
    }
  }

  [[nodiscard]] double slope(std::size_t first, std::size_t last) const {
    const Moments m = centred(first, last);
    return m.xx > 0 ? m.xy / m.xx : 0;
  }
  /// Squared residuals of the best line through points first, …, last - 1.
  [[nodiscard]] double squared_residuals(std::size_t first, std::size_t last) const {
    const Moments m = centred(first, last);
    return std::max(0.0, m.yy - slope(first, last) * m.xy);
  }

 private:
  struct Moments {
    double x = 0;
    double y = 0;
    double xx = 0;
    double xy = 0;
    double yy = 0;
  };
  [[nodiscard]] Moments centred(std::size_t first, std::size_t last) const {
    const Moments& a = at_[first];
    const Moments& b = at_[last];
    const auto n = static_cast<double>(last - first);
    const double x = b.x - a.x;
    const double y = b.y - a.y;
    return {x, y, b.xx - a.xx - x * x / n, b.xy - a.xy - x * y / n, b.yy - a.yy - y * y / n};
  }

  std::vector<Moments> at_;
};

/// The best cuts before and after every point.
class Cuts {
 public:
  Cuts(const Sums& sums, std::size_t n, double noise)
      : sums_(&sums),
        n_(n),
        noise_(noise),
        before_(n + 1, std::numeric_limits<double>::infinity()),
        after_(before_),
        previous_(n + 1, 0) {
    before_[0] = 0;
    after_[n] = 0;
    for (std::size_t end = 1; end <= n; ++end) find_before(end);
    for (std::size_t first = n; first-- > 0;) find_after(first);
  }

  [[nodiscard]] std::vector<std::size_t> ends() const {
    std::vector<std::size_t> ends;
    for (std::size_t end = n_; end > 0; end = previous_[end]) ends.push_back(end);
    std::reverse(ends.begin(), ends.end());
    return ends;
  }
  /// Whether a cut there is about as good as the best.
  [[nodiscard]] bool plausible(std::size_t cut) const {
    return before_[cut] + after_[cut] <= before_[n_] + chi_square_95;
  }

 private:
  [[nodiscard]] double cost(std::size_t first, std::size_t last) const {
    const double parameters = last - first == 1 ? 1 : 2;
    return sums_->squared_residuals(first, last) / (noise_ * noise_) +
           (parameters + 1) * std::log(static_cast<double>(n_));
  }
  void find_before(std::size_t end) {
    for (std::size_t first = 0; first < end; ++first) {
      const double sum = before_[first] + cost(first, end);
      if (sum >= before_[end]) continue;
      before_[end] = sum;
      previous_[end] = first;
    }
  }
  void find_after(std::size_t first) {
    for (std::size_t end = first + 1; end <= n_; ++end) {
      after_[first] = std::min(after_[first], cost(first, end) + after_[end]);
    }
  }

  const Sums* sums_;
  std::size_t n_;
  double noise_;
  std::vector<double> before_;  ///< least sum for the points before it
  std::vector<double> after_;   ///< least sum for it and the points after
  std::vector<std::size_t> previous_;
};

}  // namespace

std::vector<Segment> piecewise_linear_segments(std::span<const double> x, std::span<const double> y,
                                               double least_noise) {
  EXPECT(x.size() == y.size() && least_noise > 0);
  if (x.empty()) return {};
  const std::vector<double> smooth = running_median(y);
  const Sums sums(x, smooth);
  const Cuts cuts(sums, x.size(), noise_of(y, least_noise));
  std::vector<Segment> segments;
  std::size_t first = 0;
  for (const std::size_t end : cuts.ends()) {
    Segment found{first, end - first, sums.slope(first, end), end, end};
    while (found.end_low > 1 && cuts.plausible(found.end_low - 1)) --found.end_low;
    while (found.end_high < x.size() && cuts.plausible(found.end_high + 1)) ++found.end_high;
    segments.push_back(found);
    first = end;
  }
  return segments;
}

}  // namespace dlscale::bench
