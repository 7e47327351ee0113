#include "train/trainer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "backend/comm/together.hpp"
#include "core/base/error.hpp"
#include "train/exchange/gradient_reducer.hpp"
#include "train/exchange/host_copies.hpp"
#include "train/make_exchange.hpp"
#include "train/phases.hpp"
#include "train/trainer_impl.hpp"

namespace dlscale::train {
namespace {

using backend::Communicator;

Seconds load_time(const Batch& batch) {
  Seconds sum;
  for (const LoadTimes& times : batch.times) sum += times.read + times.decode + times.augment;
  return sum;
}

}  // namespace

Trainer::Impl::Impl(Program& the_program, Communicator& the_communicator, BatchSource source,
                    const TrainOptions& the_options)
    : program(&the_program),
      communicator(&the_communicator),
      next(std::move(source)),
      options(the_options),
      copies_ahead(the_program.device().own_memory().has_value()) {
  check_launch(*program, options);
  EXPECT(options.timing == Timing::phases || !options.record_spans);
  EXPECT(is_merged(options.schedule) || options.groups.empty());
  EXPECT(options.synchronisation == Synchronisation::all_reduce ||
         goes_with_server(options.schedule));
  options.sgd.gradient_scale = 1.0F / static_cast<float>(communicator->size());
  if (options.record_spans) timeline.emplace(steady_clock::now());
  if (communicator->size() == 1) {
    plan(first_buckets());
    return;
  }
  backend::together(*communicator, [this] {
    plan(first_buckets());
    staging = Staging(program->device(), *communicator, program->all_parameters().size());
  });
  start_together();
  owners = owners_of(*program, messages, options, communicator->size());
  if (is_merged(options.schedule) && options.groups.empty()) {
    profile.emplace(sizes_of(*program, messages));
  }
  prepare_exchange();
}

std::vector<Bucket> Trainer::Impl::first_buckets() const {
  std::vector<Bucket> buckets = gradient_buckets(program->network(), options.schedule);
  return options.groups.empty() ? buckets : merged_buckets(buckets, options.groups);
}

/// Makes the exchange or the reducer, and its staging. They allocate memory, which may fail on a
/// single rank.
void Trainer::Impl::prepare_exchange() {
  if (options.schedule != Schedule::sequential) {
    std::unique_ptr<Communicator> own = communicator->duplicate();
    return backend::together(*communicator, [&] {
      exchange = make_exchange(*program, std::move(own), messages, options);
    });
  }
  if (owners.empty()) {
    reducer = std::make_unique<AllReduceReducer>(std::move(staging));
    return;
  }
  backend::together(*communicator, [this] {
    CollectiveMemory gradients(program->device(), *communicator, program->all_gradients());
    reducer = std::make_unique<ParameterServerReducer>(std::move(gradients), owners);
  });
}

/// Waits for messages that overlap the next forward: all ranks have posted them, so they arrive,
/// and dropping them would block the others. A rank that is out of step drops its messages.
Trainer::Impl::~Impl() {
  wait_for_staged();
  if (!exchange || !is_deferred() || is_apart) return;
  try {
    exchange->finish();
  } catch (const std::exception&) {
    return;  // nothing is in flight any more
  }
}

void Trainer::Impl::start_clock() {
  const std::shared_ptr<const backend::Mark> start = program->device().mark();
  start->wait();
  phases.emplace(start, steady_clock::now());
}

IterationRecord Trainer::Impl::iterate() {
  if (!phases) start_clock();
  first_posted = phases->began();
  if (profile && profile->is_complete()) adopt_merge_plan();
  double loss = 0;
  phase(other_phase, [] {});
  try {
    if (copies_ahead) {
      take_staged();
    } else {
      phase(input_phase, [&] { current = next(); });
      phase("copy of the batch", [&] { program->set_input(current.images, current.labels); });
    }
    phase(forward_phase, [&] { run_forward(); });
    phase(backward_phase, [&] { run_backward(); });
  } catch (...) {
    keep_in_step();
    phases.reset();
    steps.clear();
    throw;
  }
  // All compute is enqueued, so the next batch can be copied while it and the exchange run.
  if (copies_ahead) phase(input_phase, [&] { stage_next(); });
  const std::vector<Transfer> transfers = synchronise();
  // Reading the loss waits for the device, so all work is done.
  loss = program->loss();
  phases->end(other_phase, program->device().mark());
  const auto end = phases->last();
  end->wait();
  const Instant when = steady_clock::now();
  if (profile) profile->end_iteration(transfers);
  IterationRecord record = make_record(transfers);
  record.loss = loss;
  if (timeline) record_spans(transfers);
  if (options.record_messages) {
    sent.begin(phases->began(), first_posted);
    sent.add(transfers, layers_in(messages));
  }
  ++iteration;
  phases.emplace(end, when);
  return record;
}

/// Fetches the next batch after the device has read the current one, as the source reuses its
/// memory. A failure belongs to the iteration that would have used the batch.
void Trainer::Impl::stage_next() {
  try {
    if (input_used) input_used->wait();
    staged = next();
    program->stage_input(staged->images, staged->labels);
  } catch (...) {
    staged.reset();
    staging_failure = std::current_exception();
  }
}

/// Waits for the batch being copied, as the source may free its memory after the trainer is gone.
void Trainer::Impl::wait_for_staged() noexcept {
  if (!staged) return;
  try {
    program->device().join_copies();
    program->synchronize();
  } catch (const std::exception&) {
    return;  // nothing is being copied any more
  }
}

void Trainer::Impl::take_staged() {
  if (!staged && !staging_failure) phase(input_phase, [&] { stage_next(); });
  if (staging_failure) std::rethrow_exception(std::exchange(staging_failure, nullptr));
  phase("copy of the batch", [&] { program->use_staged_input(); });
  const bool marked = options.timing == Timing::phases;
  input_used = marked ? phases->last() : program->device().mark();
  current = std::move(*staged);
  staged.reset();
}

void Trainer::Impl::end_phase(std::string_view name) {
  if (options.timing == Timing::phases) phases->end(name, program->device().mark());
}

IterationRecord Trainer::Impl::make_record(const std::vector<Transfer>& transfers) const {
  IterationRecord record;
  record.total = phases->total();
  record.load = load_time(current);
  if (options.timing == Timing::iteration) return record;
  record.io = phases->duration(input_phase);
  record.h2d = phases->duration("copy of the batch");
  record.forward = phases->duration(forward_phase);
  record.backward = phases->duration(backward_phase);
  record.exposed_comm = phases->duration(gradients_phase);
  record.update = phases->duration(update_phase);
  record.other = phases->duration(other_phase);
  // The thread may be descheduled between reading the two clocks. The difference must not look like
  // overlap where there cannot be any.
  if (is_deferred()) {
    record.hidden_comm = busy_outside(transfers, phases->intervals(gradients_phase));
  } else if (options.schedule != Schedule::sequential) {
    record.hidden_comm = busy_before(transfers, phases->start_of(gradients_phase));
  }
  return record;
}

/// Dropout seed of the iteration and rank: no two ranks drop the same elements.
std::uint64_t Trainer::Impl::draw() const {
  return iteration * static_cast<std::uint64_t>(communicator->size()) +
         static_cast<std::uint64_t>(communicator->rank());
}

void Trainer::Impl::run(Step step) {
  if (!timeline) {
    program->run(step, draw());
    return;
  }
  std::shared_ptr<const backend::Mark> start = program->device().mark();
  program->run(step, draw());
  steps.push_back({step, std::move(start), program->device().mark()});
}

void Trainer::Impl::run_forward() {
  if (is_deferred()) return run_forward_by_layer();
  if (replay) program->send_seeds(draw());
  run_stretch(0, [this] {
    for (const Step step : program->forward_steps()) run(step);
  });
}

/// Runs forward. Each layer waits for its gradients of the previous iteration and is updated with
/// them first.
void Trainer::Impl::run_forward_by_layer() {
  for (const Step step : program->forward_steps()) {
    const std::optional<std::size_t> message = message_of[step.layer.index()];
    if (message && unsettled[*message]) {
      end_phase(forward_phase);
      settle(*message);
    }
    run(step);
  }
}

void Trainer::Impl::run_backward() {
  if (profile) profile->begin_backward(program->device().mark());
  const std::size_t all = program->backward_steps().size();
  for (std::size_t done = 0; done < all;) {
    const bool to_message = exchange && posted < messages.size();
    const std::size_t end = to_message ? messages[posted].ready_after + 1 : all;
    run_stretch(2 + posted, [this, done, end] {
      for (std::size_t i = done; i < end; ++i) run(program->backward_steps()[i]);
    });
    done = end;
    while (exchange && posted < messages.size() && messages[posted].ready_after + 1 == end) {
      post_next();
    }
  }
}

/// Records spans on the host's clock, whatever clock the device has.
void Trainer::Impl::record_spans(const std::vector<Transfer>& transfers) {
  for (const Phases::Phase& phase : phases->all()) {
    timeline->add(Span::Lane::phase, std::string(phase.name), "phase", phases->when(*phase.start),
                  phases->when(*phase.end));
  }
  for (const StepMarks& marks : steps) {
    timeline->add(Span::Lane::compute, program->network().layer(marks.step.layer).name,
                  std::string(pass_name(marks.step.pass)), phases->when(*marks.start),
                  phases->when(*marks.end));
  }
  steps.clear();
  timeline->add(current);
  for (const Transfer& transfer : transfers) {
    const auto carried = std::span(messages).subspan(transfer.bucket, transfer.buckets);
    timeline->add(Span::Lane::comm, name_of(carried), std::string(to_string(transfer.kind)),
                  transfer.start, transfer.end, static_cast<double>(transfer.bytes));
  }
}

Trainer::Trainer(Program& program, Communicator& communicator, BatchSource next,
                 const TrainOptions& options)
    : impl_(std::make_unique<Impl>(program, communicator, std::move(next), options)) {}

Trainer::Trainer(Program& program, Communicator& communicator, DataPipeline& data,
                 const TrainOptions& options)
    : Trainer(
          program, communicator, [&data]() -> const Batch& { return data.next(); }, options) {}

Trainer::~Trainer() = default;

IterationRecord Trainer::iterate() {
  const IterationRecord record = impl_->iterate();
  if (!std::isfinite(record.loss)) {
    throw WrongResult(
        fmt::format("the loss is {} after iteration {}, not finite (training diverged). Lower the "
                    "learning rate.",
                    record.loss, impl_->iteration));
  }
  return record;
}

void Trainer::settle() {
  impl_->settle();
}

const std::optional<MergePlan>& Trainer::merge_plan() const {
  return impl_->merge_plan;
}

std::vector<Bytes> Trainer::message_sizes() const {
  return sizes_of(*impl_->program, impl_->messages);
}

std::vector<float> Trainer::mean_gradient(LayerId layer) const {
  EXPECT(impl_->knows_gradient(layer));
  std::vector<float> gradient = impl_->program->plain_gradient(layer);
  for (float& element : gradient) element *= impl_->options.sgd.gradient_scale;
  return gradient;
}

int settling_iterations(Schedule schedule, int ranks) {
  if (!is_merged(schedule) || ranks == 1) return 0;
  return static_cast<int>(MergeProfile::iterations) + 1;
}

std::vector<std::vector<SentMessage>> Trainer::take_messages() {
  return impl_->sent.take();
}

void Trainer::restart_clock() {
  impl_->start_clock();
}

std::vector<Span> Trainer::take_spans() {
  return impl_->timeline ? impl_->timeline->take() : std::vector<Span>{};
}

}  // namespace dlscale::train
