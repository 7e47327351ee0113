#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "model/published/cases/curve_case.hpp"

namespace dlscale::model {

/// A predicted time of one size, and its 90 % interval.
struct CurveTime {
  Seconds value;
  Seconds low;
  Seconds high;
  double latency_share = 0;  ///< share of `value` that does not depend on bytes: 0 … 1
};

/// The range of competing laws, widened on both sides:
///   [min_i T_i e^-δ, max_i T_i e^δ]
/// `laws` are further times beside `value`; δ = `spread` ≥ 0.
CurveTime ranged(Seconds value, std::span<const Seconds> laws, double spread, double latency_share);

/// Times of one number of ranks as a function of the size m. Within a protocol range of a library
///   T(m) = α + β m                                                                (Hockney)
/// holds. The curve between two given sizes is therefore their chord on linear axes. It is exact
/// within a range, and lies within both times if the range changes in between. The first chord
/// continues below the smallest size (through the origin if its α is negative), the last beyond the
/// largest; neither falls. A single size has no slope: smaller sizes take as long, larger ones in
/// proportion.
class SizeCurve {
 public:
  /// Sizes need not ascend. Points that are not positive and finite are left out. Points of the
  /// same size count as their geometric mean.
  explicit SizeCurve(const cases::GivenCurve& given);

  [[nodiscard]] bool empty() const { return sizes_.empty(); }
  /// Whether m lies between the given sizes. This and all below require a point.
  [[nodiscard]] bool covers(Bytes m) const;
  [[nodiscard]] Seconds time(Bytes m) const;
  /// α / T(m) of the chord at m, 0 … 1.
  [[nodiscard]] double latency_share(Bytes m) const;
  /// Other laws where m is not covered: in proportion to the size from the nearest given one, and
  /// below the smallest also its time unchanged. Empty where m is covered.
  [[nodiscard]] std::vector<Seconds> beyond(Bytes m) const;
  /// The possible error of ln T:
  ///   δ = 0.02 + |ln(chord / chord on logarithmic axes)| + mean of |ln(T_i / chord without i)|
  /// over the two given sizes i around m; 0.02 at a given size. The terms are the difference of two
  /// measurements of one size, the bend of the curve, and the error of such chords at the
  /// neighbours.
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

/// A given curve and its number of ranks, or of nodes if the case states only those.
struct RankCurve {
  int ranks = 1;
  int nodes = 0;  ///< 0: not stated
  SizeCurve times;
};

/// The usable curves of a case. Curves within a node say nothing about the links between nodes, and
/// other curves say little about a node alone.
struct KnownCurves {
  /// Curves of the same kind as the one asked (one node, or several), by ranks, each number once.
  std::vector<RankCurve> alike = {};
  /// The largest curve within one node, if `alike` is empty and several nodes are asked.
  std::optional<RankCurve> in_node = {};
};

/// Selects curves. It ignores curves that count in another unit than the case, or have no usable
/// point. It also ignores curves of one rank, which sends nothing, unless the case is of one rank.
/// A curve counts as alike if it is not known whether it leaves the node.
KnownCurves known_curves(const cases::CurveCase& curve);

}  // namespace dlscale::model
