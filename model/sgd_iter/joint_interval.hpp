#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace dlscale::model {

/// How uncertain a quantity is that depends on inputs which err independently of each other, each
/// with an interval: also where one hides another, as a maximum does.

/// Of an input: -1 at its low end, 0 at its value, 1 at its high end.
using InputPlaces = std::vector<int>;
/// The quantity, finite, at some places of all inputs.
using OfInputs = std::function<double(const InputPlaces&)>;

struct QuantityInterval {
  double low = 0;
  double high = 0;
};

/// From the 5 % to the 95 % quantile of T over errors u_i of the inputs that are normal on either
/// side of the value, with `deviations` > 0 of them to each end of an interval:
///   T(u) = T_0 + Σ_i |u_i| Δ_i,s + Σ_ij min(|u_i|, |u_j|) Δ_ij,st
///   Δ_i,s   = T at end s of input i alone, less T_0
///   Δ_ij,st = T at ends s of i and t of j, less both alone, and T_0
/// with s and t the sides that u_i and u_j lie on. Exact at the value, all ends and all ends of two
/// inputs of `pairs`; between them linear on triangles, which is exact of sums, and of maxima and
/// minima of two inputs whose ends lie alike. [D, derived: the Lovász extension of each pair; L.
/// Lovász, "Submodular functions and convexity" (1983)] Quantiles are those over the 1021 points of
/// a lattice of Korobov, equal for equal arguments. T is asked for 1 + 2 n + 4 |pairs| places of n
/// inputs. Of one input the ends are T's own, to scale. The interval holds T_0, however one-sided
/// inputs err. Wrong where three inputs hide each other and no two of them do, and where T turns
/// between ends: of a maximum by some hundredths of the interval.
/// `pairs` are of different inputs, each once; of pairs that are left out Δ_ij counts as 0.
QuantityInterval joint_interval(std::size_t inputs,
                                const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                                double deviations, const OfInputs& quantity);

}  // namespace dlscale::model
