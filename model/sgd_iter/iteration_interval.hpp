#pragma once
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

}  // namespace dlscale::model
