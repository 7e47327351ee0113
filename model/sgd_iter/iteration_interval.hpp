#pragma once
#include "core/base/units.hpp"

namespace dlscale::model {

struct IterationCosts;

/// The ends of an interval of what an iteration takes.
struct IterationInterval {
  Seconds low;
  Seconds high;
};

/// The 90 % interval of an iteration of these costs, which takes `total` by them: by
/// joint_interval() over the terms, of which everything within one errs at once, and each as a
/// normal error on either side of its value. Simulated are both ends of each term and, since
/// computing and messages are what other things hide behind, all ends of each two of which one is
/// computing or messages and the other runs beside it. `fitted` (Machine::fitted): the ends that
/// costs have are of 95 %, else of 90 %. What costs know no interval of adds nothing to it: the
/// notes of a prediction tell what that is.
IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total);

}  // namespace dlscale::model
