#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/communication/carrier.hpp"
#include "model/communication/range_fit.hpp"
#include "model/fits/piecewise.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// ln(measured / closed form) of messages of one size.
struct FormRatio {
  Bytes size;
  double log_ratio = 0;
};

/// Ratios of the times of one layout to the closed form fitted to all layouts. Where a library
/// changes its algorithm with the size, the form knows where the times jump. What it lacks (noise
/// that lasts for a whole measurement, pinned cores) changes little from one size to the next:
///   T(m) = F(m) e^r(m),   r(m) = Σ_i w_i r_i / (1 + Σ_i w_i),   w_i = 2^(-|lg(m / m_i)| / 2)
/// with r_i of the sizes measured: weights halve with every two octaves, and one further sample has
/// r = 0. [D, derived: a weighted mean with a prior]
struct FormRatios {
  std::vector<FormRatio> at;  ///< by size; empty: the times of the layout stand alone
  /// Root mean square error in the logarithm when each of `at` is predicted from the others. A
  /// single measurement counts with its distance from the prediction.
  double deviation = 0;
  /// r(m); 0 without any.
  [[nodiscard]] double log_ratio(Bytes m) const;
};

/// Ratios with their deviation.
FormRatios form_ratios(std::vector<FormRatio> at);

/// The sizes by which the ranges of a fit are bounded: `message` is the whole message, by which
/// libraries choose; `transfer` is what travels at once (LinkTerms::transfer), by which the
/// transport below them chooses.
enum class RangeOf { message, transfer };
std::string_view to_string(RangeOf range_of);
/// Throws ConfigError for another word.
RangeOf parse_range_of(std::string_view word);

/// The measurements of one layout, fitted alone.
struct LayoutFit {
  Placement layout;
  Piecewise cost;  ///< α + β m by protocol range (fit_piecewise())
  Segment line;    ///< one α + β m through all sizes, as a naive baseline
  /// Empty unless the rules of a library choose several algorithms for its sizes.
  FormRatios ratios = {};
};

/// Accuracy of the closed form on the largest number of ranks measured, fitted without it. It says
/// how far to trust the form on more ranks.
struct Foresight {
  int ranks = 0;      ///< number of ranks predicted
  int from = 0;       ///< largest number of ranks in the fit, over the same kind of link
  double median = 0;  ///< median absolute relative error of the samples on `ranks`
  /// Relative standard deviation of the closed form's errors there, less what the intervals of
  /// prediction and measurement explain; 0 where they explain all.
  double deviation = 0;
  /// Whether the median error exceeds the one that validate-comm allows.
  [[nodiscard]] bool is_poor() const { return median > 0.08; }
};

/// The closed form of an algorithm, fitted to all sizes and numbers of ranks of a family at once. α
/// and β of the links belong to the machine; the formula contains the ranks. γ is part of β where
/// it is 0. Wrong where the library changes its algorithm with the number of ranks by unknown
/// rules, and where different links (switches, sockets) count as one here.
struct AlgorithmFit {
  Carrier carrier;
  std::string library;
  std::string waiting;
  std::string asked = "library";  ///< implementation that ran the collective, as its rows say
  RangeOf range_of = RangeOf::message;
  SecondsPerByte gamma;            ///< time to add a byte; known beforehand, not fitted
  std::vector<LinkRange> ranges;   ///< empty where the layouts cannot tell algorithms apart
  std::vector<LayoutFit> layouts;  ///< by ranks; ≥ 1
  /// Absent where fewer than two numbers of ranks were measured over the same kind of link.
  std::optional<Foresight> foresight = {};
  std::string source;
};

/// Whether both layouts have the same number of ranks and of nodes.
bool is_same(const Placement& a, const Placement& b);
/// Whether both are within a node, or both span several: such layouts use the same links.
bool is_alike(const Placement& a, const Placement& b);
/// The size that selects the range of m bytes.
Bytes size_in_range(const LinkTerms& terms, RangeOf range_of, Bytes m);

/// A predicted time and its basis. The interval should hold the time of messages of that size on
/// that layout in 95 of 100 cases.
///   As measured: interval of the layout's own fit, by the covariance of weighted linear regression
///     (LineSpread). Where the rules of a library choose several algorithms, the closed form times
///     the layout's ratio to it (FormRatios), from T e^-w to T e^w with w 1.96 times their
///     deviation.
///   By a closed form: T = N F_there / F_near, with N the nearest layout's own fit and F the closed
///     form fitted to all. Their relative variances (LinkSpread, for F) combine to
///       v = max(0, v_N - v_near) + v_there,
///     because N and F use the same samples, and the difference of an estimate and the best one is
///     independent of the best [J. A. Hausman, Econometrica 46 (1978) 1251, lemma 2.1]. The closed
///     form's own error adds the square of Foresight::deviation, assumed to grow in proportion to
///     the logarithm of the number of ranks. It adds nothing where fewer than two numbers of ranks
///     were measured. The bounds are T e^-w and T e^w, with w ≤ 20.
///   By the fastest algorithm: interval of the line, without the chance that another is used.
struct MessagePrediction {
  Estimate<Seconds> time;
  std::string algorithm;            ///< its closed form was used; empty: the layout's own fit alone
  bool sizes_extrapolated = false;  ///< outside the sizes measured on the nearest layout
  bool ranks_extrapolated = false;  ///< fewer or more ranks than were measured
  /// "interpolated", "extrapolated in ranks", "extrapolated in sizes and ranks", …
  [[nodiscard]] std::string basis() const;
};

/// The time of m bytes on a layout by the fitted closed form alone. Empty where messages cross a
/// link that no sample crosses, and where the algorithm is unknown or cannot run there.
std::optional<Seconds> closed_form_time(const AlgorithmFit& fit, const Placement& layout, Bytes m);

/// The time of m bytes on a layout. A measured layout uses its own fit, or closed form and ratios
/// (see above). Any other takes the layout with the nearest number of ranks in proportion, times
/// the ratio of the closed forms on both. Both are at the same size in the sense of RangeOf. If no
/// two numbers of ranks were measured over the same kind of link and the algorithm is unknown, the
/// fastest counts, as if the library had chosen it. Empty where messages cross a link that no
/// sample crosses, or the algorithm cannot run there.
std::optional<MessagePrediction> predict_message(const AlgorithmFit& fit, const Placement& layout,
                                                 Bytes m);

/// The time by the single straight line of the layout, or of the one nearest in proportion.
Seconds straight_line(const AlgorithmFit& fit, const Placement& layout, Bytes m);

}  // namespace dlscale::model
