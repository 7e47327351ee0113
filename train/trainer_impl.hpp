#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/network/step.hpp"
#include "train/engine/replay.hpp"
#include "train/exchange/exchange.hpp"
#include "train/exchange/host_copies.hpp"
#include "train/messages.hpp"
#include "train/phases.hpp"
#include "train/sent_messages.hpp"
#include "train/timeline.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {

/// The phases of an iteration by name.
inline constexpr std::string_view input_phase = "input";
inline constexpr std::string_view forward_phase = "forward";
inline constexpr std::string_view backward_phase = "backward";
inline constexpr std::string_view gradients_phase = "wait for gradients";
inline constexpr std::string_view update_phase = "update";
inline constexpr std::string_view other_phase = "other";

/// A step whose device time is known once the device has finished it.
struct StepMarks {
  Step step;
  std::shared_ptr<const backend::Mark> start;
  std::shared_ptr<const backend::Mark> end;
};

/// Implementation of Trainer: trainer.cpp has the iterations, trainer_exchange.cpp the exchange.
struct Trainer::Impl {
  Impl(Program& the_program, backend::Communicator& the_communicator, BatchSource source,
       const TrainOptions& the_options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void wait_for_staged() noexcept;
  [[nodiscard]] std::vector<Bucket> first_buckets() const;
  void start_together();
  void prepare_exchange();
  void plan(std::vector<Bucket> buckets);
  void adopt_merge_plan();
  IterationRecord iterate();
  void start_clock();  ///< starts the clock of the next iteration
  [[nodiscard]] std::uint64_t draw() const;
  void run(Step step);
  void run_forward();
  void run_forward_by_layer();
  void run_backward();
  void run_update();
  [[nodiscard]] bool is_deferred() const;
  [[nodiscard]] bool knows_gradient(LayerId layer) const;
  void settle(std::size_t message);
  void settle();
  /// Runs a segment: forward, update, then backward up to each message and to the end.
  template <class Work>
  void run_stretch(std::size_t stretch, const Work& work) {
    if (replay) return replay->run(stretch, work);
    work();
  }
  void post_next();
  std::vector<Transfer> synchronise();
  std::vector<Transfer> finish_exchange();
  void keep_in_step();
  std::vector<Transfer> exchange_now();
  void hand_out_parameters(std::vector<Transfer>& transfers);
  /// Runs a phase. It begins where the previous one ended, so timed phases have no gaps.
  template <class Work>
  void phase(std::string_view name, const Work& work) {
    work();
    end_phase(name);
  }
  void end_phase(std::string_view name);
  [[nodiscard]] IterationRecord make_record(const std::vector<Transfer>& transfers) const;
  void record_spans(const std::vector<Transfer>& transfers);
  void stage_next();
  void take_staged();

  Program* program;
  backend::Communicator* communicator;
  BatchSource next;
  TrainOptions options;
  std::vector<Message> messages;
  std::vector<std::optional<std::size_t>> message_of;  ///< by layer
  std::vector<Rank> owners;             ///< by message; empty without a parameter server
  std::optional<MergeProfile> profile;  ///< set until there is a plan
  std::optional<MergePlan> merge_plan;
  Staging staging;  ///< for broadcasts of parameters by the training thread
  std::unique_ptr<GradientReducer> reducer;  ///< for the training thread; only if sequential
  /// Whether each batch is fetched and copied while the device computes the previous iteration.
  bool copies_ahead = false;
  Batch current;  ///< its times; its images are valid only until the next batch is fetched
  std::optional<Batch> staged;         ///< the next batch, being copied to the device
  std::exception_ptr staging_failure;  ///< why `staged` is empty
  /// passed when the device has read the current batch
  std::shared_ptr<const backend::Mark> input_used;
  std::optional<Timeline> timeline;
  std::uint64_t iteration = 0;
  std::size_t posted = 0;        ///< messages posted in this iteration
  bool is_apart = false;         ///< a failure left this rank out of step with the others
  Instant first_posted;          ///< time of the first post; until then, the start of the iteration
  MessageLog sent;               ///< used if messages are recorded
  std::vector<bool> unsettled;   ///< by message: the last iteration's has not arrived yet
  std::optional<Phases> phases;  ///< of this iteration; empty before the first
  std::vector<StepMarks> steps;  ///< of this iteration, if there is a timeline
  std::optional<Replay> replay;  ///< with Launch::graph
  /// last: its thread stops before the members it uses are destroyed
  std::unique_ptr<Exchange> exchange;
};

}  // namespace dlscale::train
