#pragma once
#include <string_view>
#include <vector>

#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::parallel_time {

/// The kinds of time in an iteration.
enum class StepKind {
  computing,  ///< work of the network
  overhead,   ///< all that a perfect host and perfect links would save
};

/// A part of an iteration.
struct StepPart {
  std::string_view name;
  StepKind kind = StepKind::computing;
  double seconds = 0;  ///< > 0
};

/// Parts of an iteration that add up to ParallelAnswer::seconds(), as means over the ranks of a
/// pipeline, in the order of a step. With m micro-batches, S stages and L layers:
///   layers           m L / S times the parts of a layer (layer_parts()); messages within layers
///                    are those of tensors, contexts and experts in proportion
///   tables           m (embedding + head) / S
///   uneven stages    m (slowest stage - mean of stages)
///   stage messages   what the pipeline would save if they took no time
///   fill and drain   the rest of the pipeline; less than 0 counts for uneven stages
///   stragglers       the rest of the iteration's total
///   waits            what ParallelAnswer::seconds() exceeds that by
/// Parts of less than a millionth of the iteration are left out. [derived]
std::vector<StepPart> step_losses(const Setting& setting, const ParallelAnswer& answer);

}  // namespace dlscale::model::parallel_time
