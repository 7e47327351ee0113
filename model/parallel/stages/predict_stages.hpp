#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/library_memory.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/parallel/parts/part_memory.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/parallel/stages/part_exchange.hpp"
#include "model/parallel/stages/stage_errors.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// Where the time of an iteration goes; the parts add up to StagedTraining::total.
struct StagedParts {
  Seconds computing;  ///< forward and backward of all ranks of a pipeline, over their number
  Seconds unequal;    ///< by which the busiest rank computes longer
  Seconds bubble;     ///< waits while the pipeline fills and drains, without messages
  Seconds messages;   ///< what messages between stages add
  Seconds strips;     ///< messages between strips of images, of the mean rank
  Seconds exchange;   ///< what sums of gradients and the update add
  Seconds input;      ///< waits for samples
};

/// An iteration of a network in stages, with all computing at one end of its interval.
struct StagedIteration {
  PipelineCosts costs;         ///< with reduces and updates
  PipelineTime pipeline;       ///< by simulation of the schedule
  MakespanBounds bounds = {};  ///< of the pipeline without reduces and updates, by closed form
  std::vector<PartExchange> exchanges;  ///< by part
  StagedParts parts;
  Seconds alone;  ///< one device with all images, or the most that a rank may have at a time
  Seconds total;
};

/// The predicted training of a network in stages. A rank here is a stage of one of the
/// data-parallel pipelines, which are alike.
struct StagedTraining : StagedIteration {
  parallel::PipelineShape shape = {};
  int copies = 1;  ///< of the network in a pipeline, as in parallel::Schedule
  int micro_batch = 1;
  std::vector<int> layers;  ///< of each part, without the input
  double images_per_s = 0;
  double speedup = 0;     ///< over one device, as predict_strong() has it: `alone` / `total`
  double efficiency = 0;  ///< speedup / devices
  std::optional<StageErrors> errors;     ///< of `total`; absent for machines that were measured
  std::vector<PartMemory> memory;        ///< by rank
  memory::LibraryMemory libraries = {};  ///< of each rank; 0 on processors
  Bytes device_memory;                   ///< that a rank can allocate; 0: unknown
  std::vector<Note> notes;
  /// Ends of the 90 % interval of an iteration; `total` without one.
  [[nodiscard]] Seconds low() const;
  [[nodiscard]] Seconds high() const;
  /// Ends of the 90 % interval of the speed-up, at most all ranks; the speed-up without one.
  [[nodiscard]] double speedup_low() const;
  [[nodiscard]] double speedup_high() const;
  /// The longest of `parts` in words: "computing", "unequal stages", "the bubble", "messages
  /// between stages", "messages of strips", "the exchange of gradients" or "input".
  [[nodiscard]] std::string_view bound() const;
  /// The rank whose need of memory is greatest.
  [[nodiscard]] std::size_t fullest() const;
  /// Memory of a rank with libraries, and the ends of its range.
  [[nodiscard]] memory::MemoryEstimate need(std::size_t rank) const;
  /// The most of all ranks, end by end.
  [[nodiscard]] memory::MemoryEstimate need() const;
  /// Whether each rank's memory holds its need; false where the memory is unknown.
  [[nodiscard]] bool fits() const;
};

/// Throws ConfigError for a plan with axes other than data, context and stages, or with other ways
/// that only transformers of equal layers have.
void check_stage_axes(const Network& network, const parallel::ParallelPlan& plan);

/// Predicts an iteration of any network whose layers are cut into the stages of a pipeline, on
/// data × context × stages ranks. Pure, as predict().
///
/// 1. Each layer takes as long as predict() says, with micro-batches of the plan. On processors
///    with room for more ranks a node than sockets, a rank has its share of a socket.
/// 2. Parts are those of plan.stage_layers, else the cut with the fastest slowest stage among those
///    that fit most surely (cut_by_time_and_memory()); of several chunks or copies of the network,
///    among all. A note says what that costs.
/// 3. Full or block recomputation adds its forward to backward. Several micro-batches add up their
///    gradients: 12 bytes a parameter each, at the bandwidth of memory.
/// 4. A cut sends what crosses it (crossing_elements()), and its gradient back (stage_links()).
///    Ranks along context share every image (strip_of()), and wait for their neighbours' rows in
///    each layer (strip_messages()).
/// 5. simulate() runs the lists of plan.schedule with these times, and sums of gradients over the
///    copies of each part (part_exchanges(), reduce_times()) before its update.
/// 6. All wait for the slowest copy (slowest_copy()).
/// 7. Samples are read and decoded beside that by the ranks of the first stage.
///
/// The interval joins three errors (StageErrors). All computing and input at one end of theirs,
/// with the same cut, is simulated like their values.
///
/// With one stage and one micro-batch that is data parallelism as predict() has it. Wrong where
/// messages between stages share a link within a node, and where sends keep a device from
/// computing. `run.ranks` counts all ranks, `run.batch` is not read. Throws ConfigError with a
/// sentence for plans that do not fit (parallel::faults()), for axes other than data, context
/// and stages, and as predict() does.
StagedTraining predict_stages(const Network& read, const Machine& machine, const Run& run,
                              const parallel::ParallelPlan& plan, std::int64_t global_batch);

}  // namespace dlscale::model
