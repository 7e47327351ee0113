#pragma once
#include "core/units.hpp"

namespace dlscale::model {

struct IterationCosts;

/// The ends of an interval of what an iteration takes.
struct IterationInterval {
  Seconds low;
  Seconds high;
};

/// The 90 % interval of an iteration of these costs, which takes `total` by them. Each term is
/// moved to the ends of its interval by itself, everything within a term at once; the changes of
/// the terms add up in quadrature, as independent errors do. `fitted` (Machine::fitted): the ends
/// that costs have are of 95 %, taken to be those of a normal distribution, and made those of 90 %.
/// What costs know no interval of adds nothing to it: the notes of a prediction tell what that is.
IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total);

}  // namespace dlscale::model
