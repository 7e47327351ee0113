#pragma once
#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::parallel_time {

/// Seconds of an iteration by cause; all ≥ 0, and together ParallelAnswer::seconds(). Each has its
/// share of what stragglers add.
struct StepParts {
  double compute = 0;    ///< layers and tables of the slowest stage, with the host's calls
  double messages = 0;   ///< exposed ones within layers: of tensors, contexts and experts
  double bubble = 0;     ///< idle stages, and messages between them
  double gradients = 0;  ///< exposed ones of replicas: gradients, and sharded weights
  double update = 0;
  double waits = 0;            ///< of the allocator for memory
  bool is_host_bound = false;  ///< the host's calls of a layer take longer than its kernels
  [[nodiscard]] double total() const {
    return compute + messages + bubble + gradients + update + waits;
  }
};

/// The parts of L layers in the slowest stage and m micro-batches, by times of layer_time():
///   messages   m L (slower(D + messages, host) - slower(D, host))
///   gradients  exposed gradients + m L (layer - slower(D + messages, host))
///   bubble     pipeline - m slowest stage
///   compute    m slowest stage - messages - what layers add to gradients
///   waits      what ParallelAnswer::seconds() exceeds the total by
/// all but waits times total over their sum. [derived]
StepParts step_parts(const Setting& setting, const ParallelAnswer& answer);

/// The cause that takes longest, in words: "compute", "host", "tensor messages", "expert messages",
/// "context messages", "messages in layers" where there are several kinds, "bubble", "gradients",
/// "update", "memory".
std::string bound_of(const StepParts& parts, const PlanSizes& plan);

}  // namespace dlscale::model::parallel_time
