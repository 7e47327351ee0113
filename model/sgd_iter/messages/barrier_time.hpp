#pragma once
#include "core/base/units.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Time of simultaneous ranks to meet before a message of training, until the first continues: a
/// barrier of ⌈lg p⌉ rounds of empty messages, in which ranks sleep. In this order:
///   an all-reduce of 4 B, which has as many rounds, after spinning;
///   ⌈lg p⌉ of the smallest messages from one rank to another, likewise;
///   nothing, which is noted: where neither was measured, and from data sheets.
/// After sleeping, measured messages include the wake-up of the other ranks, because bench comm
/// times each rank from its own end of the barrier. They are not used here, where the wake-up would
/// count twice. [D, derived] Wrong where one rank is so late that the others sleep their longest:
/// then it continues at once, and they wake up to 100 µs later.
Estimate<Seconds> barrier_time(const Machine& machine, const Placement& placement, Notes& notes);

}  // namespace dlscale::model
