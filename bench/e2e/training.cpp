#include "bench/e2e/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "backend/comm/same_settings.hpp"
#include "bench/e2e/profile_file.hpp"
#include "bench/e2e/rank_agreement.hpp"
#include "bench/e2e/training_watch.hpp"
#include "bench/engine/sampler_warnings.hpp"
#include "bench/engine/speed_samples.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "bench/workbench/finding.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/network/merge.hpp"
#include "core/network/network.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "core/results/communication_profile.hpp"
#include "train/data/data.hpp"
#include "train/engine/program.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using train::IterationRecord;
using train::Timing;

/// A field of a record, its series, and the timing it needs.
struct Column {
  const char* series;
  const char* unit;
  Timing timing;
  double (*value)(const IterationRecord&);
};

constexpr Timing always = Timing::iteration;
constexpr std::array columns{
    Column{"t_iter", "s", always, [](const IterationRecord& r) { return r.total.si(); }},
    Column{"t_io", "s", Timing::phases, [](const IterationRecord& r) { return r.io.si(); }},
    Column{"t_h2d", "s", Timing::phases, [](const IterationRecord& r) { return r.h2d.si(); }},
    Column{"t_f", "s", Timing::phases, [](const IterationRecord& r) { return r.forward.si(); }},
    Column{"t_b", "s", Timing::phases, [](const IterationRecord& r) { return r.backward.si(); }},
    Column{"t_comm_exposed", "s", Timing::phases,
           [](const IterationRecord& r) { return r.exposed_comm.si(); }},
    Column{"t_comm_hidden", "s", Timing::phases,
           [](const IterationRecord& r) { return r.hidden_comm.si(); }},
    Column{"t_u", "s", Timing::phases, [](const IterationRecord& r) { return r.update.si(); }},
    Column{"t_other", "s", Timing::phases, [](const IterationRecord& r) { return r.other.si(); }},
    Column{"t_load", "s", always, [](const IterationRecord& r) { return r.load.si(); }},
    Column{"loss", "1", always, [](const IterationRecord& r) { return r.loss; }}};

/// Gathers equally many values from all ranks, by rank.
std::vector<std::vector<double>> gather_records(Communicator& communicator,
                                                const std::vector<double>& mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  std::vector<std::vector<double>> by_rank;
  for (auto from = all.begin(); from != all.end(); from += std::ssize(mine)) {
    by_rank.emplace_back(from, from + std::ssize(mine));
  }
  return by_rank;
}

std::vector<std::vector<double>> gather_records(Communicator& communicator, const Column& column,
                                                std::span<const IterationRecord> records) {
  std::vector<double> mine;
  std::ranges::transform(records, std::back_inserter(mine), column.value);
  return gather_records(communicator, mine);
}

/// An equal share of the free memory on the node with the least.
std::optional<Bytes> memory_per_rank(Communicator& communicator) {
  const auto free = free_memory();
  double share = std::numeric_limits<double>::max();
  if (free) share = free->si() / communicator.node_size();
  communicator.all_reduce(std::span<double>(&share, 1), backend::Reduction::min);
  return share == std::numeric_limits<double>::max() ? std::nullopt : std::optional(Bytes(share));
}

/// The allocator for batches of a device with its own memory: host memory of the device's
/// allocator, which is copied fastest and asynchronously.
std::function<backend::Buffer(std::size_t)> batch_memory(backend::ComputeDevice& device) {
  if (!device.own_memory()) return {};
  return [&device](std::size_t bytes) { return device.allocate_on_host(bytes); };
}

std::unique_ptr<backend::ComputeDevice> open_for(const TrainingSettings& settings,
                                                 const Communicator& communicator) {
  auto device = open_device(settings.backend, settings.run.compute_threads, communicator.gpu());
  train::check_normalisation(*device, settings.run.normalisation);
  return device;
}

/// Number and digest of the pictures, wherever their folder is.
std::string content_of(const train::DataSet& set) {
  std::string text;
  for (const train::DataSet::Picture& picture : set.pictures) {
    text += fmt::format("{} {} {}\n", picture.path.lexically_relative(set.root).string(),
                        picture.label, picture.bytes);
  }
  return fmt::format("{} pictures of {} classes ({:016x})", set.pictures.size(),
                     set.classes.size(), fnv1a(text));
}

/// Objects of the training on one rank, up to the first collective step.
struct Worker {
  Worker(const TrainingSettings& settings, const Communicator& communicator,
         std::optional<Bytes> available)
      : Worker(settings, communicator, available, train::open_data_set(settings.data)) {}

  Worker(const TrainingSettings& settings, const Communicator& communicator,
         std::optional<Bytes> available, train::DataSet set)
      : device(open_for(settings, communicator)),
        program(as_run(*settings.network, settings.run), *device, settings.run.batch,
                settings.run.dtype, available),
        pictures(content_of(set)),
        data(std::move(set), {.shape = settings.network->input(),
                              .batch = settings.run.batch,
                              .threads = settings.run.loader_threads,
                              .prefetch = settings.run.prefetch,
                              .seed = settings.seed,
                              .rank = communicator.rank(),
                              .ranks = communicator.size(),
                              .normalisation = settings.run.normalisation,
                              .allocate = batch_memory(*device)}) {
    program.initialise(settings.seed);
    // An unwritable file should fail before the training, not after it.
    if (!settings.trace.empty()) {
      train::write_trace(trace_path(settings.trace, communicator.rank()), communicator.rank(), {});
    }
  }

  std::unique_ptr<backend::ComputeDevice> device;
  train::Program program;
  std::string pictures;  ///< content_of() the data set
  train::DataPipeline data;
};

/// Opens the profile before the training, as a trace.
void open_profile(Communicator& communicator, const TrainingSettings& settings,
                  const Worker& worker) {
  if (!settings.profile) return;
  std::map<std::string, std::string> libraries = worker.device->libraries();
  libraries["communicator"] = communicator.library();
  settings.profile->open_on_first(communicator, libraries);
}

train::TrainOptions train_options(const TrainingSettings& settings) {
  train::TrainOptions options;
  options.schedule = settings.run.schedule;
  options.synchronisation = settings.run.synchronisation;
  options.settings = settings.run.settings;
  options.sgd.rate = settings.rate;
  options.waiting = settings.waiting;
  options.launch = settings.run.launch;
  options.record_spans = !settings.trace.empty();
  options.timing = settings.timing;
  options.record_messages = settings.profile != nullptr;
  return options;
}

/// Iterations of all ranks, and how they ended.
struct Outcome {
  std::vector<IterationRecord> records;                   ///< with the warm-up, which is first
  std::vector<train::Span> spans;                         ///< after the warm-up
  std::vector<std::vector<train::SentMessage>> messages;  ///< by iteration after the warm-up
  std::vector<Bytes> message_sizes;                       ///< in the last iteration
  std::optional<train::MergePlan> merge_plan;
  std::optional<QuietIterations> quiet;  ///< set if the machine's speed is checked
  JointEnd ending;
};

/// Number of iterations that are not measured. Those that a merged schedule profiles precede the
/// warm-up.
std::size_t unmeasured(const TrainingSettings& settings) {
  const int settling = train::settling_iterations(settings.run.schedule, settings.run.ranks);
  return static_cast<std::size_t>(settings.warmup) + static_cast<std::size_t>(settling);
}

/// Marks the outcome as wrong if the ranks' parameters differ.
void compare_parameters(Communicator& communicator, Worker& worker, Outcome& outcome) {
  const std::string astray = parameter_difference(communicator, worker.program);
  if (astray.empty()) return;
  outcome.ending.answer = JointEnd::Answer::wrong;
  outcome.ending.reason = fmt::format(
      "after {} iterations {}, though all began with the same and added the same gradients: what "
      "ranks send each other arrives wrong. See what the benchmark comm says of them",
      outcome.records.size(), astray);
}

std::optional<QuietIterations> looks_at(Communicator& communicator, Seconds patience) {
  if (patience == Seconds(0)) return std::nullopt;
  return std::optional<QuietIterations>(std::in_place, communicator, patience,
                                        [witness = ReferenceWork()] { return witness.time(); });
}

/// Collective, before the first iteration and after each: ends the warm-up, then checks the
/// machine's speed.
void note_progress(const TrainingSettings& settings, train::Trainer& trainer, TrainingWatch& watch,
                   Outcome& outcome) {
  if (outcome.records.size() < unmeasured(settings)) return;
  if (outcome.records.size() == unmeasured(settings)) {
    std::ignore = trainer.take_spans();
    std::ignore = trainer.take_messages();
    watch.warmed_up();
  }
  if (!outcome.quiet || !outcome.ending.may_go_on()) return;
  outcome.quiet->look();
  trainer.restart_clock();
}

bool is_complete(const TrainingSettings& settings, Outcome& outcome) {
  const auto wanted = static_cast<std::size_t>(settings.iterations);
  if (outcome.records.size() < unmeasured(settings) + wanted) return false;
  return !outcome.quiet || outcome.quiet->are_enough(wanted);
}

/// Iterations after the warm-up that are reported: all, unless enough were measured while the
/// machine was quiet.
std::vector<bool> kept(const TrainingSettings& settings, const Outcome& outcome) {
  const std::size_t warmup = std::min(unmeasured(settings), outcome.records.size());
  if (outcome.quiet) {
    std::vector<bool> counted = outcome.quiet->counted();
    if (std::ranges::count(counted, true) >= settings.iterations) return counted;
  }
  return std::vector<bool>(outcome.records.size() - warmup, true);
}

/// The kept elements of `items`, which may be fewer.
template <class T>
std::vector<T> select(std::span<const T> items, const std::vector<bool>& kept) {
  std::vector<T> selected;
  for (std::size_t i = 0; i < std::min(items.size(), kept.size()); ++i) {
    if (kept[i]) selected.push_back(items[i]);
  }
  return selected;
}

Outcome train_together(Communicator& communicator, const TrainingSettings& settings, Worker& worker,
                       TrainingWatch& watch, JointEnd ending) {
  Outcome outcome;
  outcome.ending = std::move(ending);
  if (!outcome.ending.may_go_on()) {
    watch.stop();
    return outcome;
  }
  train::Trainer trainer(worker.program, communicator, worker.data, train_options(settings));
  outcome.quiet = looks_at(communicator, settings.wait_quiet);
  note_progress(settings, trainer, watch, outcome);
  while (outcome.ending.may_go_on() && !is_complete(settings, outcome)) {
    // Communication here counts as `other` of the next iteration.
    outcome.ending =
        run_jointly(communicator, [&] { outcome.records.push_back(trainer.iterate()); });
    note_progress(settings, trainer, watch, outcome);
  }
  watch.stop();
  outcome.spans = trainer.take_spans();
  if (outcome.ending.answer == JointEnd::Answer::right && communicator.size() > 1) {
    trainer.settle();
    compare_parameters(communicator, worker, outcome);
  }
  // Messages of the warm-up or of a failed iteration were not measured.
  outcome.messages =
      select<std::vector<train::SentMessage>>(trainer.take_messages(), kept(settings, outcome));
  outcome.message_sizes = trainer.message_sizes();
  outcome.merge_plan = trainer.merge_plan();
  return outcome;
}

Work work_of_iteration(const TrainingSettings& settings, const train::Program& program) {
  Work sum;
  for (const auto* steps : {&program.forward_steps(), &program.backward_steps()}) {
    for (const Step step : *steps) {
      const Work part = work(program.network(), step, settings.run.batch, settings.run.dtype);
      sum.flops += part.flops;
      sum.bytes += part.bytes;
    }
  }
  return sum;
}

std::string describe(const Communicator& communicator, const Worker& worker) {
  std::string text;
  for (const auto& [library, version] : worker.device->libraries()) {
    text += fmt::format("{} {}, ", library, version);
  }
  return fmt::format("{}{}, {:.2f} GB per rank", text, communicator.library(),
                     worker.program.memory().si() / 1e9);
}

void fill_series(Measurement& measurement, Communicator& communicator, Timing timing,
                 std::span<const IterationRecord> records) {
  for (const Column& column : columns) {
    if (column.timing != always && column.timing != timing) continue;
    measurement.series[column.series] =
        make_series(column.unit, gather_records(communicator, column, records));
  }
}

/// Adds the groups of a merged schedule and the message cost they follow from, the same on every
/// rank.
void add_merge_plan(Measurement& measurement, Communicator& communicator, const Outcome& outcome) {
  if (!outcome.merge_plan) return;
  const auto add = [&](const char* name, const char* unit, const std::vector<double>& values) {
    measurement.series[name] = make_series(unit, gather_records(communicator, values));
  };
  std::vector<double> sizes;
  for (const Bytes size : outcome.message_sizes) sizes.push_back(size.si());
  const LinearCost& cost = outcome.merge_plan->cost;
  add("message_size", "B", sizes);
  add("message_startup", "s", {cost.a.si()});
  add("message_time_per_byte", "s/B", {cost.b.si()});
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> mean_over_ranks(const std::vector<std::vector<double>>& by_rank) {
  std::vector<double> means(by_rank.front().size());
  for (const auto& rank : by_rank) {
    for (std::size_t i = 0; i < rank.size(); ++i) means[i] += rank[i];
  }
  for (double& value : means) value /= static_cast<double>(by_rank.size());
  return means;
}

void finish(Measurement& measurement, Communicator& communicator, const TrainingSettings& settings,
            double wanted_width, const Outcome& outcome) {
  if (outcome.ending.answer == JointEnd::Answer::wrong) {
    measurement.status = Status::wrong;
    measurement.reason = outcome.ending.reason;
    return;
  }
  add_merge_plan(measurement, communicator, outcome);
  const std::size_t warmup = unmeasured(settings);
  if (outcome.records.size() > warmup) {
    const auto records =
        select(std::span(outcome.records).subspan(warmup), kept(settings, outcome));
    fill_series(measurement, communicator, settings.timing, records);
  }
  if (!outcome.records.empty()) {
    measurement.warnings =
        loss_warnings(gather_records(communicator, columns.back(), outcome.records));
  }
  for (std::string& warning : longest_rank_warnings(measurement.series)) {
    measurement.warnings.push_back(std::move(warning));
  }
  if (outcome.ending.signal != 0) {
    measurement.status = Status::interrupted;
    measurement.reason =
        fmt::format("stopped by signal {} after {} of {} iterations", outcome.ending.signal,
                    outcome.records.size(),
                    unmeasured(settings) + static_cast<std::size_t>(settings.iterations));
    return;
  }
  mark_if_unstable(measurement, measurement.at("t_iter").summary, wanted_width);
  if (outcome.quiet) {
    outcome.quiet->tell(measurement, static_cast<std::size_t>(settings.iterations));
  }
}

/// Writes the traces. A failure here is a warning and keeps the measurement.
void write_traces(Measurement& measurement, Communicator& communicator,
                  const TrainingSettings& settings, const Outcome& outcome) {
  if (settings.trace.empty()) return;
  std::string problem;
  try {
    train::write_trace(trace_path(settings.trace, communicator.rank()), communicator.rank(),
                       outcome.spans);
  } catch (const ConfigError& error) {
    problem = error.what();
  }
  double failed = problem.empty() ? 0 : 1;
  communicator.all_reduce(std::span<double>(&failed, 1), backend::Reduction::max);
  if (failed > 0) {
    measurement.warnings.push_back(problem.empty() ? "another rank could not write its trace"
                                                   : problem);
  }
}

/// Writes the profile. A failure here is a warning, too.
void write_profile(Measurement& measurement, Communicator& communicator,
                   const TrainingSettings& settings, const Outcome& outcome) {
  if (!settings.profile || outcome.ending.answer == JointEnd::Answer::wrong) return;
  std::optional<CommunicationProfile> profile = gather_profile(communicator, outcome.messages);
  if (communicator.rank() != 0 || !profile) return;
  profile->axes = settings.axes;
  profile->axes.insert(measurement.axes.begin(), measurement.axes.end());
  if (measurement.status == Status::interrupted) profile->interruption = measurement.reason;
  try {
    settings.profile->write(*profile);
  } catch (const ConfigError& error) {
    measurement.warnings.emplace_back(error.what());
  }
}

}  // namespace

std::vector<std::string> loss_warnings(const std::vector<std::vector<double>>& losses) {
  const std::vector<double> means = mean_over_ranks(losses);
  if (means.size() < 2) return {};
  const std::size_t quarter = std::max<std::size_t>(1, means.size() / 4);
  const double first = mean(std::span(means).first(quarter));
  const double last = mean(std::span(means).last(quarter));
  if (last < first) return {};
  return {fmt::format(
      "the loss did not fall: {:.4g} in the first {} iterations, {:.4g} in the last. The times are "
      "right; for the training choose another learning rate or more iterations.",
      first, quarter, last)};
}

Measurement measure_training(const Sampler& sampler, const TrainingSettings& settings) {
  Communicator& communicator = sampler.communicator();
  const std::optional<Bytes> available = memory_per_rank(communicator);
  std::optional<Worker> worker;
  const JointEnd ready =
      run_jointly(communicator, [&] { worker.emplace(settings, communicator, available); });
  EXPECT(ready.answer == JointEnd::Answer::right);
  backend::expect_same_settings(
      communicator,
      {{"the content of " + option_name("network"), fingerprint(*settings.network)},
       {"the content of " + option_name("data"), worker->pictures}});
  open_profile(communicator, settings, *worker);
  Measurement measurement;
  measurement.implementation = describe(communicator, *worker);
  measurement.network = {settings.network_source, fingerprint(*settings.network)};
  measurement.work = work_of_iteration(settings, worker->program);
  // The trainer decides in the same way.
  const bool ahead = worker->device->own_memory().has_value();
  measurement.axes["input_copy"] = input_copy_name(ahead ? InputCopy::ahead : InputCopy::on_path);
  TrainingWatch watch(witness_of(*worker->device));
  const Outcome outcome = train_together(communicator, settings, *worker, watch, ready);
  finish(measurement, communicator, settings, sampler.criterion().relative_half_width, outcome);
  if (!ahead) add_compute_warnings(measurement, settings.run.compute_threads, communicator);
  watch.add_to(measurement, communicator);
  write_traces(measurement, communicator, settings, outcome);
  write_profile(measurement, communicator, settings, outcome);
  return measurement;
}

}  // namespace dlscale::bench
