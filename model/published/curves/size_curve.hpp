#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/curve_case.hpp"

namespace dlscale::model {

/// Times of one number of ranks as a function of the size m. Within a protocol range of a library
///   T(m) = α + β m                                                                (Hockney)
/// holds, so that between two given sizes it is their chord on linear axes: exact within a range,
/// and within both times where the range changes in between. Below the smallest size the first
/// chord goes on (through the origin where its α is negative), beyond the largest the last, neither
/// falling. One size alone tells no slope: what is smaller takes as long, what is larger takes more
/// in proportion.
class SizeCurve {
 public:
  /// Sizes need not ascend. Points that are not positive and finite are left out; of points of the
  /// same size the geometric mean counts.
  explicit SizeCurve(const cases::GivenCurve& given);

  [[nodiscard]] bool empty() const { return sizes_.empty(); }
  /// Whether m lies between the given sizes. As all below: requires a point.
  [[nodiscard]] bool covers(Bytes m) const;
  [[nodiscard]] Seconds time(Bytes m) const;
  /// α / T(m) of the chord there, 0 … 1.
  [[nodiscard]] double latency_share(Bytes m) const;
  /// Other laws where m is not covered: in proportion to the size from the nearest given one, and
  /// below the smallest also its time as it is. Empty where it is.
  [[nodiscard]] std::vector<Seconds> beyond(Bytes m) const;
  /// How far ln T may be off:
  ///   δ = 0.02 + |ln(chord / chord on logarithmic axes)| + mean of |ln(T_i / chord without i)|
  /// over the two given sizes i around m; 0.02 at a given size. The first is what two measurements
  /// of the same differ by, the second how bent the curve may be, the third how well such chords
  /// foretold the neighbours.
  [[nodiscard]] double spread(Bytes m) const;

 private:
  [[nodiscard]] std::size_t segment_end(Bytes m) const;
  [[nodiscard]] SecondsPerByte slope(std::size_t end) const;
  [[nodiscard]] double bend(Bytes m) const;
  [[nodiscard]] std::optional<double> residual(std::size_t point) const;
  [[nodiscard]] double residuals_around(Bytes m) const;

  std::vector<Bytes> sizes_;  ///< ascending
  std::vector<Seconds> times_;
};

}  // namespace dlscale::model
