#include "train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/step.hpp"
#include "train/exchange.hpp"
#include "train/phases.hpp"
#include "train/random.hpp"
#include "train/replay.hpp"
#include "train/sent_messages.hpp"
#include "train/staging.hpp"
#include "train/timeline.hpp"

namespace dlscale::train {
namespace {

using backend::Communicator;
using std::chrono::steady_clock;

constexpr std::string_view input_phase = "input";
constexpr std::string_view backward_phase = "backward";
constexpr std::string_view gradients_phase = "wait for gradients";
constexpr std::string_view other_phase = "other";

/// A message and when it may leave.
struct Outgoing {
  Bucket bucket;
  std::string name;
  std::size_t ready_after = 0;  ///< backward step
};

std::string bucket_name(const Network& network, const Bucket& bucket) {
  const std::string& first = network.layer(bucket.layers.front()).name;
  if (bucket.layers.size() == 1) return first;
  return fmt::format("{} … {} ({} layers)", first, network.layer(bucket.layers.back()).name,
                     bucket.layers.size());
}

std::vector<Outgoing> plan_messages(const Program& program, Schedule schedule) {
  std::vector<Outgoing> messages;
  for (Bucket& bucket : gradient_buckets(program.network(), schedule)) {
    std::string name = bucket_name(program.network(), bucket);
    const std::size_t last = ready_after(program.network(), program.backward_steps(), bucket);
    messages.push_back({std::move(bucket), std::move(name), last});
  }
  EXPECT(std::ranges::is_sorted(messages, {}, &Outgoing::ready_after));
  return messages;
}

void check_launch(const Program& program, const TrainOptions& options) {
  if (options.launch == Launch::eager) return;
  if (!program.device().own_memory()) {
    throw ConfigError(fmt::format(
        "{} computes on the host, where no kernel is launched that a graph could hold. Train with "
        "--launch eager.",
        program.device().name()));
  }
  if (options.record_spans) {
    throw ConfigError(
        "a graph runs as a whole, so a trace would hold no layers. Leave out --trace, or train "
        "with --launch eager.");
  }
}

/// A number that is equal on all ranks if they train the same parameters in the same layouts and
/// messages under one schedule; below 2^53, so that it is exact as a double.
double fingerprint(const Program& program, const std::vector<Outgoing>& messages,
                   Schedule schedule) {
  std::uint64_t hash = mix(messages.size(), static_cast<std::uint64_t>(schedule));
  for (const char letter : program.parameter_layout()) {
    hash = mix(hash, static_cast<unsigned char>(letter));
  }
  return static_cast<double>(hash >> 11U);
}

void check_agreement(Communicator& communicator, double mine) {
  std::array<double, 2> extremes{mine, -mine};
  communicator.all_reduce(std::span<double>(extremes), backend::Reduction::max);
  if (extremes[0] == -extremes[1]) return;
  throw ConfigError(
      "the ranks hold different parameters or hold them in different layouts (their gradients "
      "cannot be added). Give all ranks the same network, schedule, library and kind of "
      "processor.");
}

Seconds load_time(const Batch& batch) {
  Seconds sum;
  for (const LoadTimes& times : batch.times) sum += times.read + times.decode + times.augment;
  return sum;
}

/// What of the transfers ran before `until`.
Seconds busy_before(const std::vector<Transfer>& transfers, Instant until) {
  Seconds sum;
  for (const Transfer& transfer : transfers) {
    if (transfer.start < until) sum += elapsed(transfer.start, std::min(transfer.end, until));
  }
  return sum;
}

/// A step whose time on the device is known when the device is through with it.
struct StepMarks {
  Step step;
  std::shared_ptr<const backend::Mark> start;
  std::shared_ptr<const backend::Mark> end;
};

}  // namespace

struct Trainer::Impl {
  Impl(Program& the_program, Communicator& the_communicator, BatchSource source,
       const TrainOptions& the_options);
  ~Impl() { wait_for_staged(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void wait_for_staged() noexcept;
  void start_together();
  IterationRecord iterate();
  [[nodiscard]] std::uint64_t draw() const;
  void run(Step step);
  void run_forward();
  void run_backward();
  void run_update();
  template <class Work>
  void run_stretch(std::size_t stretch, const Work& work);
  void post_next();
  std::vector<Transfer> finish_exchange();
  void keep_in_step();
  std::vector<Transfer> exchange_now();
  template <class Work>
  void phase(std::string_view name, const Work& work);
  [[nodiscard]] IterationRecord make_record(const std::vector<Transfer>& transfers) const;
  void record_spans(const std::vector<Transfer>& transfers);
  void stage_next();
  void take_staged();

  Program* program;
  Communicator* communicator;
  BatchSource next;
  TrainOptions options;
  std::vector<Outgoing> messages;
  Staging staging;  ///< of the training thread
  /// Where the device computes beside the host, each batch is fetched and sent while the iteration
  /// before still computes.
  bool copies_ahead = false;
  Batch current;                       ///< its times; its images only until the next is asked for
  std::optional<Batch> staged;         ///< the next, on its way to the device
  std::exception_ptr staging_failure;  ///< why there is none
  std::shared_ptr<const backend::Mark> input_used;  ///< the device has read the current batch
  std::optional<Timeline> timeline;
  std::uint64_t iteration = 0;
  std::size_t posted = 0;                    ///< messages of this iteration
  std::optional<Phases> phases;              ///< of this iteration; none before the first
  std::vector<StepMarks> steps;              ///< of this iteration, if there is a timeline
  MessageLog sent;                           ///< if messages are recorded
  std::optional<Replay> replay;              ///< with Launch::graph
  std::optional<GradientExchange> exchange;  ///< last: its thread stops before what it uses goes
};

Trainer::Impl::Impl(Program& the_program, Communicator& the_communicator, BatchSource source,
                    const TrainOptions& the_options)
    : program(&the_program),
      communicator(&the_communicator),
      next(std::move(source)),
      options(the_options),
      messages(plan_messages(the_program, the_options.schedule)),
      copies_ahead(the_program.device().own_memory().has_value()) {
  check_launch(*program, options);
  EXPECT(options.timing == Timing::phases || !options.record_spans);
  options.sgd.gradient_scale = 1.0F / static_cast<float>(communicator->size());
  if (options.launch == Launch::graph) replay.emplace(program->device(), messages.size() + 3);
  if (options.record_spans) timeline.emplace(steady_clock::now());
  if (communicator->size() == 1) return;
  backend::ComputeDevice& device = program->device();
  staging = Staging(device, *communicator, program->all_parameters().size());
  start_together();
  if (options.schedule != Schedule::sequential) {
    auto own = communicator->duplicate();
    Staging its_staging(device, *own, program->all_gradients().size());
    exchange.emplace(std::move(own), std::move(its_staging), options.waiting);
  }
}

void Trainer::Impl::start_together() {
  check_agreement(*communicator, fingerprint(*program, messages, options.schedule));
  program->synchronize();
  staging.with(program->all_parameters(), [this](std::span<float> values) {
    communicator->broadcast(std::as_writable_bytes(values), 0);
  });
  program->parameters_changed();
}

IterationRecord Trainer::Impl::iterate() {
  if (!phases) {
    const std::shared_ptr<const backend::Mark> start = program->device().mark();
    start->wait();
    phases.emplace(start, steady_clock::now());
  }
  std::vector<Transfer> transfers;
  double loss = 0;
  phase(other_phase, [] {});
  try {
    if (copies_ahead) {
      take_staged();
    } else {
      phase(input_phase, [&] { current = next(); });
      phase("copy of the batch", [&] { program->set_input(current.images, current.labels); });
    }
    phase("forward", [&] { run_forward(); });
    phase(backward_phase, [&] { run_backward(); });
  } catch (...) {
    keep_in_step();
    phases.reset();
    steps.clear();
    throw;
  }
  // All that computes is given, so the next batch may travel beside it and beside the gradients.
  if (copies_ahead) phase(input_phase, [&] { stage_next(); });
  phase(gradients_phase, [&] { transfers = finish_exchange(); });
  phase("update", [&] { run_update(); });
  // The loss comes from the device: when it is here all is done.
  loss = program->loss();
  phases->end(other_phase, program->device().mark());
  const auto end = phases->last();
  end->wait();
  const Instant when = steady_clock::now();
  IterationRecord record = make_record(transfers);
  record.loss = loss;
  if (timeline) record_spans(transfers);
  if (options.record_messages) sent.add(phases->began(), transfers);
  ++iteration;
  phases.emplace(end, when);
  return record;
}

/// Not before the device has read the current batch, whose memory the source takes back. A failure
/// belongs to the iteration that would have used the batch.
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

/// The memory of a batch on its way is the source's, which may go when the trainer is gone.
void Trainer::Impl::wait_for_staged() noexcept {
  if (!staged) return;
  try {
    program->device().join_copies();
    program->synchronize();
  } catch (const std::exception&) {
    return;  // nothing is on its way any more
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

/// Runs a phase. It begins where the last one ended: there is no time between phases that are
/// timed.
template <class Work>
void Trainer::Impl::phase(std::string_view name, const Work& work) {
  work();
  if (options.timing == Timing::phases) phases->end(name, program->device().mark());
}

IterationRecord Trainer::Impl::make_record(const std::vector<Transfer>& transfers) const {
  IterationRecord record;
  record.total = phases->total();
  record.load = load_time(current);
  if (options.timing == Timing::iteration) return record;
  record.io = phases->duration(input_phase);
  record.h2d = phases->duration("copy of the batch");
  record.forward = phases->duration("forward");
  record.backward = phases->duration(backward_phase);
  record.exposed_comm = phases->duration(gradients_phase);
  record.update = phases->duration("update");
  record.other = phases->duration(other_phase);
  // The two clocks differ by as long as the thread was held up between reading them; that must not
  // look like overlap where there can be none.
  if (options.schedule != Schedule::sequential) {
    record.hidden_comm = busy_before(transfers, phases->start_of(gradients_phase));
  }
  return record;
}

/// Dropout draws by iteration and rank: no two ranks drop the same elements.
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

/// Stretches: forward, update, then backward up to each message and to the end.
template <class Work>
void Trainer::Impl::run_stretch(std::size_t stretch, const Work& work) {
  if (replay) return replay->run(stretch, work);
  work();
}

void Trainer::Impl::run_forward() {
  if (replay) program->send_seeds(draw());
  run_stretch(0, [this] {
    for (const Step step : program->forward_steps()) run(step);
  });
}

void Trainer::Impl::run_update() {
  run_stretch(1, [this] { program->update(options.sgd); });
}

void Trainer::Impl::run_backward() {
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

void Trainer::Impl::post_next() {
  exchange->post(posted, program->gradients(messages[posted].bucket), program->device().mark());
  ++posted;
}

std::vector<Transfer> Trainer::Impl::finish_exchange() {
  posted = 0;
  if (exchange) return exchange->finish();
  return communicator->size() == 1 ? std::vector<Transfer>{} : exchange_now();
}

/// After a failure of this rank: takes part in what the others wait for, so that they reach the end
/// of the iteration, where the caller can tell them.
void Trainer::Impl::keep_in_step() {
  try {
    while (exchange && posted < messages.size()) post_next();
    finish_exchange();
  } catch (const std::exception&) {
    return;  // the failure being handled came first and is the one to report
  }
}

/// No rank computes from here on, so one meeting before the first message is enough.
std::vector<Transfer> Trainer::Impl::exchange_now() {
  std::vector<Transfer> transfers;
  const Instant handed_over = steady_clock::now();
  program->synchronize();
  communicator->meet(options.waiting);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    transfers.push_back(
        all_reduce_bucket(*communicator, staging, i, program->gradients(messages[i].bucket)));
    transfers.back().posted = handed_over;
  }
  return transfers;
}

/// On the host's clock, whatever clock the device has.
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
    const Outgoing& message = messages[transfer.bucket];
    timeline->add(Span::Lane::comm, message.name, "all_reduce", transfer.start, transfer.end,
                  static_cast<double>(program->gradients(message.bucket).size_bytes()));
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
    throw WrongResult(fmt::format(
        "the loss is {} after iteration {}, not finite (training diverged). Lower --rate.",
        record.loss, impl_->iteration));
  }
  return record;
}

std::vector<float> Trainer::mean_gradient(LayerId layer) const {
  std::vector<float> gradient = impl_->program->plain_gradient(layer);
  for (float& element : gradient) element *= impl_->options.sgd.gradient_scale;
  return gradient;
}

std::vector<Span> Trainer::take_spans() {
  return impl_->timeline ? impl_->timeline->take() : std::vector<Span>{};
}

std::vector<std::vector<SentMessage>> Trainer::take_messages() {
  return impl_->sent.take();
}

}  // namespace dlscale::train
