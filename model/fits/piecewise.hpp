#pragma once
#include <optional>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::model {

/// Half the width of an interval of a normal distribution, in standard deviations: of 90 % and of
/// 95 % of it.
inline constexpr double deviations_of_90 = 1.645;
inline constexpr double deviations_of_95 = 1.960;

/// A fitted value with its 95 % interval; of a machine that data sheets tell, with that of 90 %.
template <class Q>
struct Estimate {
  Q value;
  Q low;
  Q high;
  /// A value taken as exact: nothing at all, or what nobody knows an interval of.
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

/// How certain a fitted line α + β m is, from the covariance of weighted linear regression: the
/// errors of α and β are opposed, and the line is surest at the weighted mean of the sizes, where
/// its height and its slope err independently of each other. The 95 % interval of T(m) is
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
  /// a α + b β: of one message of b bytes if a is 1. With its 95 % interval, cut off at 0; where
  /// nothing tells how the errors of α and β go together, between the bounds of both at once, which
  /// is wider.
  [[nodiscard]] Estimate<Seconds> time(double a, Bytes b) const;
};

/// A time by segments that are ascending and contiguous. Outside of them the nearest is extended.
class Piecewise {
 public:
  Piecewise() = default;
  /// Throws ConfigError if there is no segment or they are not ascending and contiguous.
  explicit Piecewise(std::vector<Segment> segments);
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const Segment& segment(Bytes size) const;
  /// With the 95 % interval of the fit (Segment::time()): of what the size takes, not of the next
  /// measurement of it.
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  [[nodiscard]] bool covers(Bytes size) const;

 private:
  std::vector<Segment> segments_;
};

}  // namespace dlscale::model
