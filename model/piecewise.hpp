#pragma once
#include <vector>

#include "core/units.hpp"

namespace dlscale::model {

/// A fitted value with its 95 % interval.
template <class Q>
struct Estimate {
  Q value;
  Q low;
  Q high;
  /// A value taken as exact: from a data sheet, or nothing at all.
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

/// T(m) = α + β m for messages of [from, to) bytes.
struct Segment {
  Bytes from;
  Bytes to;
  Estimate<Seconds> alpha;
  Estimate<SecondsPerByte> beta;
  double median_residual = 0;  ///< |fit - measured| / measured over the points fitted
  int points = 0;
};

/// A time by segments that are ascending and contiguous. Outside of them the nearest is extended.
class Piecewise {
 public:
  Piecewise() = default;
  /// Throws ConfigError if there is no segment or they are not ascending and contiguous.
  explicit Piecewise(std::vector<Segment> segments);
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const Segment& segment(Bytes size) const;
  /// With the bounds of both parameters at once, which is wider than a 95 % interval: the errors
  /// of α and β are opposed.
  [[nodiscard]] Estimate<Seconds> time(Bytes size) const;
  [[nodiscard]] bool covers(Bytes size) const;

 private:
  std::vector<Segment> segments_;
};

}  // namespace dlscale::model
