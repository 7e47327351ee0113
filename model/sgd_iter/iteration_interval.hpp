#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::model {

struct IterationCosts;

/// The ends of an interval of an iteration's time.
struct IterationInterval {
  Seconds low;
  Seconds high;
};

/// The 90 % interval of an iteration of these costs, whose time at their values is `total`. It uses
/// joint_interval() over the terms: all inputs within a term err together, each as a normal error
/// on either side of its value. Simulates both ends of each term, and all ends of pairs of
/// computing or messages with a term that overlaps it, because overlap hides time. `fitted`
/// (Machine::fitted): the costs have 95 % intervals, else 90 %. Costs without an interval add
/// nothing; the notes of a prediction list them.
IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total);

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

}  // namespace dlscale::model
