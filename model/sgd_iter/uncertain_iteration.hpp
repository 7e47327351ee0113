#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"

namespace dlscale::model {

/// Uncertainty of a quantity whose inputs err independently, each with an interval. It also holds
/// where one input hides another, as in a maximum.

/// Place of each input: -1 at its low end, 0 at its value, 1 at its high end.
using InputPlaces = std::vector<int>;
/// The quantity, finite, at given places of all inputs.
using OfInputs = std::function<double(const InputPlaces&)>;

struct QuantityInterval {
  double low = 0;
  double high = 0;
};

/// The 5 % to 95 % quantiles of T over independent errors u_i of the inputs. The u_i are normal on
/// either side of the value, with `deviations` > 0 of them to each end of an interval:
///   T(u) = T_0 + Σ_i |u_i| Δ_i,s + Σ_ij min(|u_i|, |u_j|) Δ_ij,st
///   Δ_i,s   = T at end s of input i alone, less T_0
///   Δ_ij,st = T at ends s of i and t of j, less both alone, and T_0
/// with s and t the sides of u_i and u_j. It is exact at the value, at all ends and at all ends of
/// two inputs of `pairs`. Between them it is linear on triangles: exact for sums, and for maxima
/// and minima of two inputs whose ends are on the same side. [D, derived: the Lovász extension of
/// each pair; L. Lovász, "Submodular functions and convexity" (1983)]
/// Quantiles are over the 1021 points of a Korobov lattice, so that equal arguments give equal
/// results. It evaluates T at 1 + 2 n + 4 |pairs| places of n inputs. For one input the ends are
/// T's own, to scale. The interval holds T_0, however one-sided the errors.
/// Wrong where three inputs hide each other but no two of them do, and where T bends between ends:
/// for a maximum by some hundredths of the interval. `pairs` are of different inputs, each once;
/// Δ_ij is 0 for all others.
QuantityInterval joint_interval(std::size_t inputs,
                                const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                                double deviations, const OfInputs& quantity);

/// T of joint_interval().
class InterpolatedQuantity {
 public:
  InterpolatedQuantity(std::size_t inputs,
                       const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                       const OfInputs& quantity);
  [[nodiscard]] double at_value() const { return at_value_; }
  /// T(u) of all inputs.
  [[nodiscard]] double at(const std::vector<double>& errors) const;

 private:
  /// T at an end of an input, or of two, less the terms of fewer inputs.
  struct Sides {
    double low = 0;
    double high = 0;
    [[nodiscard]] double of(double u) const { return u < 0 ? low : high; }
  };
  struct PairSides {
    std::size_t one = 0;
    std::size_t other = 0;
    Sides low;   ///< of `one` at its low end
    Sides high;  ///< and at its high end
    [[nodiscard]] double of(double u, double v) const { return (u < 0 ? low : high).of(v); }
  };

  double at_value_ = 0;
  std::vector<Sides> alone_;
  std::vector<PairSides> pairs_;
};

/// The ends of an interval of an iteration's time.
struct IterationInterval {
  Seconds low;
  Seconds high;
};

/// Error of each term, by its index in all_iteration_terms: -1 at its low end, 1 at its high end.
using TermErrors = std::array<double, std::size(all_iteration_terms)>;

/// Independent errors of a time by data sheets, on a logarithmic scale.
struct SheetErrors {
  TimeFactors computing;  ///< all terms but messages at their ends
  TimeFactors scaling;    ///< what several ranks add: scaling_factors()
};

/// The time T(u) of an iteration whose terms err, as in joint_interval(). All inputs within a term
/// err together, each as a normal error on either side of its value. It simulates both ends of each
/// term, and all ends of pairs of computing or messages with a term that overlaps it, because
/// overlap hides time. Costs without an interval add nothing; the notes of a prediction list them.
/// By data sheets it is T(u) = T(0) f_computing^|u| f_scaling^|v|, with the factors of SheetErrors.
class UncertainIteration {
 public:
  /// `fitted` (Machine::fitted): the costs have 95 % intervals, else 90 %. `time`: at their
  /// values.
  UncertainIteration(const IterationCosts& costs, bool fitted, const IterationTime& time);

  [[nodiscard]] Seconds value() const { return total_ + exact_; }
  /// The 90 % interval.
  [[nodiscard]] IterationInterval interval() const;
  /// Lengthens the iteration by a time without error.
  void add(Seconds exact) { exact_ += exact; }

  [[nodiscard]] bool errs_by(IterationTerm term) const;
  /// At least a hundredth of the value, so that ratios of such times stay finite.
  [[nodiscard]] Seconds at(const TermErrors& errors) const;
  /// Standard deviations of an error that reaches an end.
  [[nodiscard]] double deviations() const { return deviations_; }
  /// By data sheets: the errors.
  [[nodiscard]] const std::optional<SheetErrors>& by_sheets() const { return by_sheets_; }

 private:
  std::vector<IterationTerm> terms_;  ///< those that change the time
  InterpolatedQuantity time_;         ///< of `terms_`, without `exact_`
  std::optional<SheetErrors> by_sheets_;
  double deviations_;
  Seconds total_;
  Seconds exact_;
};

/// The iteration of a run, without stragglers. Throws as predict() does.
UncertainIteration uncertain_iteration(const Network& network, const Machine& machine,
                                       const Run& run);

/// The 5 % to 95 % quantiles of the speed-up S of one run over another, divided by S as predicted:
///   S(u) / S(0) = T_1(u) / T_1(0) · T_n(0) / T_n(u)
/// with T_1 and T_n the times of the base and of the run, and u the errors of the terms of both. An
/// error of a term is the same in both, so that what slows them alike cancels: S(u) = S(0) if only
/// computing takes time. Messages, contention and what overlap exposes are in T_n alone, and do
/// not. The efficiency S / n has the same relative interval. [D, derived: the ratio of two sums
/// with common terms, as in E. C. Fieller, "Some problems in interval estimation" (1954), taken at
/// each point of the lattice of joint_interval()]
/// By data sheets the errors of computing cancel, and those of scaling remain; of two iterations
/// they are independent. The error of a base that was not measured therefore counts, however well
/// the run is known. Wrong where a term errs differently in both, as where the layers of each were
/// measured. What stragglers add is in T_n as predicted, without an error.
QuantityInterval relative_speedup(const UncertainIteration& run, const UncertainIteration& base);

}  // namespace dlscale::model
