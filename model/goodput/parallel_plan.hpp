#pragma once
#include "core/cluster/cluster.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/time/iteration.hpp"

namespace dlscale::model::goodput {

/// Shares of an iteration of `micro_batches` ≥ 1 that takes `seconds` ≥ time.total, by its busiest
/// stage:
///   exposed    m L messages + gradients,  computing  m (stage - L messages) + update
///   idle       all else: bubbles, messages between stages, stragglers, waits   [derived]
PhaseShares shares_by_stage(const parallel_time::IterationTime& time, double micro_batches,
                            double seconds);

/// The question of what a training with so many `tokens` > 0 takes by a predicted plan. A
/// checkpoint holds weights, master weights and moments, once for all replicas. Shares are those
/// of shares_by_stage(). Storage and power are those of the cluster and its data sheet. [derived]
CostQuestion parallel_plan_question(const Cluster& cluster,
                                    const parallel_time::ParallelQuestion& question,
                                    const parallel_time::ParallelHardware& hardware,
                                    const parallel_time::ParallelAnswer& answer, double tokens);

}  // namespace dlscale::model::goodput
