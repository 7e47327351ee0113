#pragma once
#include <array>

#include "model/goodput/failure_facts.hpp"
#include "model/goodput/training_cost.hpp"

namespace dlscale::model::goodput {

/// Configurations and questions state hours, all else is in seconds.
inline constexpr double seconds_an_hour = 3600;

/// Nodes of a job, the last one perhaps not full.
int nodes_of(const CostQuestion& question);

/// Failures of a job in a second, by component. Stated mean times count as they are; `scale` > 0
/// multiplies those of the file. A job without GPUs has one network and one software part a node.
std::array<double, component_count> failures_per_s(const CostQuestion& question,
                                                   const FailureFacts& facts, double scale);

/// Writing and reading checkpoints of a job.
struct CheckpointTimes {
  Seconds stall;  ///< training stands still
  Seconds write;  ///< afterwards, in the background
  Seconds read;   ///< at a restart
};

/// Times of checkpoints of S bytes. Storage that reads at B takes writes at B · `share`; that of
/// nodes counts N times for N nodes, and takes `copies` of each byte. Then
///   blocking      δ = S copies / (B share N), w = 0
///   asynchronous  δ = S / (devices · host link), w as δ above
/// 0 where no rate is known, and at infinite rates. [derived]
CheckpointTimes checkpoint_times(const CostQuestion& question, double share, double copies);

}  // namespace dlscale::model::goodput
