#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/plan.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/parallel/timeline/layer_parts.hpp"

namespace dlscale::model::parallel_time {

/// One part of a pipeline (stages × chunks of them) for one micro-batch, in seconds.
struct PartTime {
  double layers = 0;
  PassParts forward = {};   ///< of its layers, with embedding or head
  PassParts backward = {};  ///< likewise
  double weights = 0;       ///< within backward: gradients of weights
  /// Stage messages that keep the rank from computing, half forward and half backward.
  double stage_messages = 0;
  double message = 0;  ///< under way to the next part, one way, while the rank goes on
  [[nodiscard]] double forward_time() const { return forward.total() + stage_messages / 2; }
  [[nodiscard]] double backward_time() const { return backward.total() + stage_messages / 2; }
};

/// The parts of a plan, in forward order. Sizes and plan are of one training; `time` is
/// iteration_time() of it.
///
/// A part has its layers; the first has the embedding too, of which half is forward, and the last
/// the head, of which a third is forward and a third makes gradients of weights: one product of
/// three. A message between stages, x, costs its rank x a micro-batch and part in schedules that
/// have other work meanwhile, as in the closed form of iteration_time(). In those that have none
/// (basic, GEMS), it is x under way. [derived]
std::vector<PartTime> part_times(const Setting& setting, const PlanSizes& sizes,
                                 const parallel::ParallelPlan& plan, const IterationTime& time);

/// Seconds of the update that an iteration has once, however few parameters a rank has.
double fixed_update(const Setting& setting, const IterationTime& time);

/// The same as simulate() takes it. Gradients and updates take their exposed times of the busiest
/// stage in proportion to layers, without fixed_update(). Exposed gradients of all parts of a rank
/// belong to the part whose backward ends last, since earlier ones would hide once more.
PipelineCosts pipeline_costs(const std::vector<PartTime>& parts, const Setting& setting,
                             const PlanSizes& sizes, const IterationTime& time);

/// Whether the closed form of iteration_time() does not stand for the plan's pipeline: stages that
/// are stated, or a schedule other than gpipe, 1f1b and interleaved.
bool is_simulated(const parallel::ParallelPlan& plan);

/// The makespan of all micro-batches of a plan by its schedule, without gradients and updates: what
/// IterationTime::pipeline is in closed form. Requires a plan without faults, and its sizes and
/// iteration_time() with the layers of stages where the plan states them.
Seconds simulated_pipeline(const Setting& setting, const PlanSizes& sizes,
                           const parallel::ParallelPlan& plan, const IterationTime& time);

/// Replaces the pipeline and the total of such a time by the simulation's. With two copies of the
/// network (GEMS), each rank exchanges and updates both.
void use_simulated_pipeline(const Setting& setting, const PlanSizes& sizes,
                            const parallel::ParallelPlan& plan, IterationTime& time);

/// iteration_time() of a plan, with the pipeline simulated where is_simulated().
IterationTime plan_time(const Setting& setting, const PlanSizes& sizes,
                        const parallel::ParallelPlan& plan);

/// The shape of the pipeline of a plan in numbers.
parallel::PipelineShape shape_of(const PlanSizes& sizes);

}  // namespace dlscale::model::parallel_time
