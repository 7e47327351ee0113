#pragma once
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/measured_level.hpp"

namespace dlscale::model {

/// The level of a training from its measured points: ≥ 1, each with another number of ranks.
/// `machine` is the one that was measured, from data sheets and without a level; `run` is the
/// training, whose ranks and batch the points state.
///
/// One rank has computing alone, so that its point fixes the factor c on computing. The factor a on
/// what several ranks add, and c where no single rank was measured, are those with the least
///   Σ (ln(measured / T) / s)² + (ln c / s_c)² + (ln a / s_a)²
/// over all points. s is the noise of repetition, s_c and s_a are the standard deviations of the
/// model's own errors. A point thus moves what is most uncertain there. a is within a quarter and
/// four times: beyond that the points contradict the model. [D, derived: maximum a posteriori]
///
/// A point that an iteration exceeds then takes less of what several ranks add, if that suffices;
/// the rest is a factor on the iteration. Equal points in any order give equal results.
///
/// Throws as predict() does, and for a point that is shorter than input or messages alone, or a
/// thousand times as long as predicted.
MeasuredLevel measured_level(const Network& network, const Machine& machine, const Run& run,
                             std::vector<MeasuredPoint> points);

}  // namespace dlscale::model
