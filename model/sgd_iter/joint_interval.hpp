#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

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

}  // namespace dlscale::model
