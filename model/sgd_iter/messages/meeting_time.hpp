#pragma once
#include "core/base/units.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// How long ranks that come at once take to meet before a message of training, until the first goes
/// on: a barrier of ⌈lg p⌉ rounds of messages that hold nothing, in which ranks sleep. In this
/// order:
///   an all-reduce of 4 B, which has as many rounds, as ranks do it that met spinning;
///   ⌈lg p⌉ of the smallest messages from one rank to another, likewise;
///   nothing, which is noted: where neither was measured, and from data sheets.
/// What others take to wake up once the first goes on is part of messages measured after ranks met
/// asleep, for bench comm times each rank from when it has met the others. So a meeting is not
/// taken from those, which would count that twice. [D, derived] Wrong where one rank comes last by
/// so much that the others sleep their longest: then it goes on at once, and they wake up to 100 µs
/// later.
Estimate<Seconds> meeting_time(const Machine& machine, const Placement& placement, Notes& notes);

}  // namespace dlscale::model
