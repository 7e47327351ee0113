#pragma once
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"
#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/schedule.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/pipeline/simulation.hpp"

namespace dlscale::model {

/// How much longer an iteration of the slowest of `data` pipelines takes than one whose ranks all
/// compute at the mean speed, ≥ 1; 1 for machines that were measured. [D]
///
/// Ranks vary in speed by a deviation σ (SheetDelays::waiting). Slowing down a device u by a small
/// share lengthens the iteration by the share c_u of that, by simulation. Devices in a row add up
/// to Σ c = 1, and their variations average out. Devices beside each other, as in a full pipeline,
/// have c_u = 1 each, and the slowest of them counts. Between both, P = max(1, Σ c) devices are
/// beside each other, each with the deviation σ √(Σ c² / P), and the slowest of data · P counts:
///   1 + r(data · P) √(Σ c² / P)
/// with r of sheet_delays(). One stage has P = 1, c = 1: data parallelism. The devices are GPUs, or
/// nodes of processors, whose ranks vary together and carry their messages. Strips of images count
/// as copies, since they meet in every layer. Wrong where a slow moment of a rank passes before the
/// iteration ends.
///
/// The shares take a makespan for each device; with more than 3 · 10^6 pieces in all, rounds that
/// repeat themselves are left out (Makespans). One backward pass over the longest path would not
/// do: equal stages have many such paths, and each device is on one.
double slowest_copy(const Network& network, const Machine& machine, const Run& run,
                    const parallel::ParallelPlan& plan, const parallel::PipelineSchedule& schedule,
                    const parallel::PipelineShape& shape, const PipelineCosts& costs);

}  // namespace dlscale::model
