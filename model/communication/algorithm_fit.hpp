#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/communication/carrier.hpp"
#include "model/communication/form_ratio.hpp"
#include "model/communication/range_fit.hpp"
#include "model/fits/piecewise.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Of what the ranges of a fit are sizes: of the message, by which libraries choose, or of what
/// travels at once (LinkTerms::transfer), by which the transport below them does.
enum class RangeOf { message, transfer };
std::string_view to_string(RangeOf range_of);
/// Throws ConfigError for another word.
RangeOf parse_range_of(std::string_view word);

/// What was measured on one layout, by itself.
struct LayoutFit {
  Placement layout;
  Piecewise cost;  ///< α + β m by protocol range (fit_piecewise())
  Segment line;    ///< one α + β m through all sizes: what is naive
  /// Where the rules of a library send its sizes by several algorithms; else empty.
  FormRatios ratios = {};
};

/// How the closed form did on the largest number of ranks measured, fitted without it: how far to
/// trust it on more.
struct Foresight {
  int ranks = 0;      ///< that number
  int from = 0;       ///< the largest of those that the fit saw then, over the same kind of link
  double median = 0;  ///< of the absolute relative errors of the samples on `ranks`
  /// Relative standard deviation of the closed form's errors there, without what the intervals of
  /// the prediction and of the times on `ranks` explain; 0 where they explain all.
  double deviation = 0;
  /// Beyond the median error that validate-comm allows.
  [[nodiscard]] bool is_poor() const { return median > 0.08; }
};

/// The closed form of an algorithm, fitted to all sizes and numbers of ranks of a family at once:
/// α and β of the links belong to the machine, the formula has the ranks. γ is part of β where it
/// is 0. Wrong where the library changes its algorithm with the number of ranks and its rules are
/// not known, and where links differ that count as one here (switches, sockets).
struct AlgorithmFit {
  Carrier carrier;
  std::string library;
  std::string waiting;
  std::string asked = "library";  ///< what carried them out, as its rows say
  RangeOf range_of = RangeOf::message;
  SecondsPerByte gamma;            ///< of adding, known beforehand, not fitted
  std::vector<LinkRange> ranges;   ///< empty where layouts tell no algorithm from another
  std::vector<LayoutFit> layouts;  ///< by ranks; ≥ 1
  /// Absent where fewer than two numbers of ranks were measured over the same kind of link.
  std::optional<Foresight> foresight = {};
  std::string source;
};

/// Whether layouts have as many ranks on as many nodes.
bool is_same(const Placement& a, const Placement& b);
/// Whether both are within a node, or both over several: those use the same links.
bool is_alike(const Placement& a, const Placement& b);
/// By what the range of m bytes is found.
Bytes size_in_range(const LinkTerms& terms, RangeOf range_of, Bytes m);

/// A predicted time, and what it rests on. The interval is to hold the time that messages of that
/// size take on that layout in 95 of 100 cases.
///   As measured: that of the layout's own fit, by the covariance of weighted linear regression
///     (LineSpread). Where the rules of a library send its sizes by several algorithms, by the
///     closed form and what the layout is beside it (FormRatios), T e^-w to T e^w with w 1.96 times
///     their deviation.
///   By a closed form: T = N F_there / F_near with N the nearest layout's own fit and F the closed
///     form fitted to all, whose relative variances (LinkSpread, for F) come together as
///       v = max(0, v_N - v_near) + v_there,
///     because N and F are of the same samples, and the difference of an estimate and the best one
///     is independent of the best [J. A. Hausman, Econometrica 46 (1978) 1251, lemma 2.1]. To it
///     comes what the closed form itself was seen to be off by: the square of Foresight::deviation,
///     which is taken to grow in proportion with the logarithm of the number of ranks. Where fewer
///     than two numbers of ranks were measured nothing is known of that, and nothing comes to it.
///     The bounds are T e^-w and T e^w, with w no more than 20.
///   By the algorithm that would take least: that of the line; that it may be another is not in it.
struct MessagePrediction {
  Estimate<Seconds> time;
  std::string algorithm;  ///< whose closed form led to it; empty: by the layout's own fit alone
  bool sizes_extrapolated = false;  ///< below or above all sizes measured on the nearest layout
  bool ranks_extrapolated = false;  ///< fewer or more ranks than were measured
  /// "interpolated", "extrapolated in ranks", "extrapolated in sizes and ranks", …
  [[nodiscard]] std::string basis() const;
};

/// The time of m bytes on a layout by the closed form with the parameters fitted, and nothing else.
/// Nothing where messages cross a link that no sample crosses, or the algorithm is not known or
/// cannot run there.
std::optional<Seconds> closed_form_time(const AlgorithmFit& fit, const Placement& layout, Bytes m);

/// The time of m bytes on a layout. As measured: the fit of that layout (or closed form and ratios,
/// see above). Else that of the layout whose number of ranks is nearest in proportion, times the
/// ratio of the closed forms on both, at the same size of what ranges are told apart by. Where no
/// two numbers of ranks were measured over the same kind of link, and nobody says by which
/// algorithm, none is told from another, and the least time of all counts, as if the library had
/// chosen it. Nothing where messages cross a link that no sample crosses, or the algorithm cannot
/// run there.
std::optional<MessagePrediction> predict_message(const AlgorithmFit& fit, const Placement& layout,
                                                 Bytes m);

/// What one straight line says: that of the layout, or else of the one nearest in proportion.
Seconds straight_line(const AlgorithmFit& fit, const Placement& layout, Bytes m);

}  // namespace dlscale::model
