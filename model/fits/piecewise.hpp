#pragma once
#include <optional>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::model {

/// Half the width of the central 90 % and 95 % intervals of a normal distribution, in standard
/// deviations.
inline constexpr double deviations_of_90 = 1.645;
inline constexpr double deviations_of_95 = 1.960;

/// A fitted value with its 95 % interval, or 90 % for a machine from data sheets.
template <class Q>
struct Estimate {
  Q value;
  Q low;
  Q high;
  /// A value with an interval of width 0: exact, or of unknown uncertainty.
  static Estimate exact(Q value) { return {value, value, value}; }
  Estimate& operator+=(const Estimate& other) {
    value += other.value;
    low += other.low;
    high += other.high;
    return *this;
  }
  friend Estimate operator*(double k, const Estimate& e) {
    return {k * e.value, k * e.low, k * e.high};
  }
};

/// Uncertainty of a fitted line α + β m, from the covariance of weighted linear regression. The
/// errors of α and β are opposed. The line is most certain at the weighted mean of the sizes, where
/// the errors of its height and slope are independent. The 95 % interval of T(m) is
///   ± sqrt(at_mean² + (slope (m - mean))²)
/// [N. R. Draper & H. Smith, Applied Regression Analysis (1998), 1.4 and 3.1]
struct LineSpread {
  Bytes mean;
  Seconds at_mean;
  SecondsPerByte slope;
};

/// T(m) = α + β m for messages of [from, to) bytes.
struct Segment {
  Bytes from;
  Bytes to;
  Estimate<Seconds> alpha;
  Estimate<SecondsPerByte> beta;
  double median_residual = 0;  ///< |fit - measured| / measured over the points fitted
  int points = 0;
  /// Absent in files of earlier versions, and where α and β were not fitted.
  std::optional<LineSpread> spread = {};
  /// a α + b β, the time of one message of b bytes if a is 1, with its 95 % interval, cut off at 0.
  /// Where the covariance of α and β is unknown, the interval spans the bounds of both at once,
  /// which is wider.
  [[nodiscard]] Estimate<Seconds> time(double a, Bytes b) const;
};

/// A time by ascending, contiguous segments. Outside of them the nearest is extrapolated.
class Piecewise {
 public:
  Piecewise() = default;
  /// Throws ConfigError if there are no segments or they are not ascending and contiguous.
  explicit Piecewise(std::vector<Segment> segments);
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const Segment& segment(Bytes size) const;
  /// The time with the 95 % interval of the fit (Segment::time()): of the mean time of the size,
  /// not of its next measurement.
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  [[nodiscard]] bool covers(Bytes size) const;

 private:
  std::vector<Segment> segments_;
};

}  // namespace dlscale::model
