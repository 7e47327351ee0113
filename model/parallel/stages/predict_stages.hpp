#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/parallel/stages/part_exchange.hpp"
#include "model/parallel/stages/part_memory.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// Where the time of an iteration goes; the parts add up to StagedTraining::total.
struct StagedParts {
  Seconds computing;  ///< forward and backward of all ranks of a pipeline, over their number
  Seconds unequal;    ///< by which the busiest rank computes longer
  Seconds bubble;     ///< waits while the pipeline fills and drains, without messages
  Seconds messages;   ///< what messages between stages add
  Seconds exchange;   ///< what sums of gradients and the update add
  Seconds input;      ///< waits for samples
};

/// The predicted training of a network in stages. A rank here is a stage of one of the
/// data-parallel pipelines, which are alike.
struct StagedTraining {
  parallel::PipelineShape shape = {};
  int copies = 1;  ///< of the network in a pipeline, as in parallel::Schedule
  int micro_batch = 1;
  std::vector<int> layers;     ///< of each part, without the input
  PipelineCosts costs;         ///< with reduces and updates
  PipelineTime pipeline;       ///< by simulation of the schedule
  MakespanBounds bounds = {};  ///< of the pipeline without reduces and updates, by closed form
  std::vector<PartExchange> exchanges;  ///< by part
  StagedParts parts;
  Seconds total;  ///< of an iteration
  double images_per_s = 0;
  double speedup = 0;     ///< over one device, which trains the same micro-batches one by one
  double efficiency = 0;  ///< speedup / devices
  std::vector<PartMemory> memory;  ///< by rank
  Bytes device_memory;             ///< of a rank; 0: unknown
  std::vector<Note> notes;
  /// The longest of `parts` in words: "computing", "unequal stages", "the bubble", "messages
  /// between stages", "the exchange of gradients" or "input".
  [[nodiscard]] std::string_view bound() const;
  /// Whether each rank's memory holds its need; false where the memory is unknown.
  [[nodiscard]] bool fits() const;
};

/// Predicts an iteration of any network whose layers are cut into the stages of a pipeline, on
/// data × stages ranks. Pure, as predict().
///
/// 1. Each layer takes as long as predict() says, with micro-batches of the plan. On processors
///    with more ranks than sockets, a rank has its share of a socket.
/// 2. Parts are those of plan.stage_layers, else the cut with the fastest slowest stage
///    (cut_into_stages()) that fits the memory, if any does.
/// 3. Full or block recomputation adds its forward to backward. Several micro-batches add up their
///    gradients: 12 bytes a parameter each, at the bandwidth of memory.
/// 4. A cut sends what crosses it (crossing_elements()), and its gradient back (stage_links()).
/// 5. simulate() runs the lists of plan.schedule with these times, and sums of gradients over the
///    copies of each part (part_exchanges(), reduce_times()) before its update.
/// 6. All wait for the slowest copy (slowest_copy()).
/// 7. Samples are read and decoded beside that by the ranks of the first stage.
///
/// With one stage and one micro-batch that is data parallelism as predict() has it. Wrong where
/// messages between stages share a link within a node, and where sends keep a device from
/// computing. `run.ranks` counts all ranks, `run.batch` is not read. Throws ConfigError with a
/// sentence for plans that do not fit (parallel::faults()), for axes other than data and stages,
/// and as predict() does.
StagedTraining predict_stages(const Network& read, const Machine& machine, const Run& run,
                              const parallel::ParallelPlan& plan, std::int64_t global_batch);

}  // namespace dlscale::model
