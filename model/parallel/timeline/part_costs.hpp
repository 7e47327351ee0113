#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/plan.hpp"
#include "model/parallel/pipeline/makespans.hpp"
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
  double message = 0;       ///< under way to the next part, one way, while the rank goes on
};

/// The parts of a plan, in forward order. Sizes and plan are of one training; `time` is
/// iteration_time() of it.
///
/// A part has its layers: its own where the plan has a number for each part, else its share of the
/// stage's. The first has the embedding too, of which half is forward, and the last the head, of
/// which a third is forward and a third makes gradients of weights: one product of three. A message
/// between stages is under way for x = IterationTime::stage_message, while its rank goes on.
/// [derived]
std::vector<PartTime> part_times(const Setting& setting, const PlanSizes& sizes,
                                 const parallel::ParallelPlan& plan, const IterationTime& time);

/// Seconds of the update that an iteration has once, however few parameters a rank has.
double fixed_update(const Setting& setting, const IterationTime& time);

/// The same as simulate() takes it. Gradients and updates take their exposed times of the busiest
/// stage in proportion to layers, without fixed_update(). Exposed gradients of all parts of a rank
/// belong to the part whose backward ends last, since earlier ones would hide once more.
PipelineCosts pipeline_costs(const std::vector<PartTime>& parts, const Setting& setting,
                             const PlanSizes& sizes, const IterationTime& time);

/// Whether the pipeline is simulated: one of several stages that its schedule can list, and that is
/// not filled from both ends. Published trainings may have others, which the closed form of
/// iteration_time() times.
bool is_simulated(const PlanSizes& sizes, const parallel::ParallelPlan& plan);

/// Makespans of the plan's schedule. Requires is_simulated().
Makespans makespans_of(const PlanSizes& sizes, const parallel::ParallelPlan& plan);

/// The costs of all micro-batches of a plan by its schedule, without gradients and updates.
/// Requires is_simulated() or a plan without faults, and its sizes and iteration_time() with the
/// layers of stages where these differ.
PipelineCosts schedule_costs(const Setting& setting, const PlanSizes& sizes,
                             const parallel::ParallelPlan& plan, const IterationTime& time);

/// The makespan under these costs: what IterationTime::pipeline is in closed form. `makespans` are
/// makespans_of() the plan, for callers that time it often; nullptr: they are made.
Seconds simulated_pipeline(const Setting& setting, const PlanSizes& sizes,
                           const parallel::ParallelPlan& plan, const IterationTime& time,
                           const Makespans* makespans = nullptr);

/// Replaces the pipeline and the total of iteration_time() by those of a makespan. With two copies
/// of the network (GEMS), each rank exchanges and updates both.
void use_pipeline(const Setting& setting, const parallel::ParallelPlan& plan, Seconds makespan,
                  IterationTime& time);

/// iteration_time() of a plan, with the pipeline simulated where is_simulated(). `makespans` as for
/// simulated_pipeline().
IterationTime plan_time(const Setting& setting, const PlanSizes& sizes,
                        const parallel::ParallelPlan& plan, const Makespans* makespans = nullptr);

/// The shape of the pipeline of a plan in numbers.
parallel::PipelineShape shape_of(const PlanSizes& sizes);

}  // namespace dlscale::model::parallel_time
