#include "app/predict/stages/predict_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/cli/rank0_error.hpp"
#include "app/predict/parallel/asked_plan.hpp"
#include "core/base/error.hpp"
#include "core/parallel/plan.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/results/trace_event.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "model/parallel/stages/measured_stages.hpp"
#include "model/parallel/stages/predict_stages.hpp"
#include "model/parallel/stages/staged_timeline.hpp"
#include "report/parallel_explain/parallel_trace.hpp"
#include "report/stages/stages_table.hpp"

namespace dlscale::app {
namespace {

using parallel::ParallelPlan;
using report::StagedAnswer;
using report::StagedAnswers;

/// Refuses what has no answer for such networks.
void refuse_others(const Network& network, const StagesQuestion& question) {
  if (!question.tokens.empty()) {
    throw ConfigError(fmt::format(
        "--tokens goes with plans of decoders, and {} trains on {}. Multiply the step by the "
        "iterations of your training, or ask predict --epochs without --parallel.",
        network.name(), network.samples()));
  }
  if (question.global_batch) return;
  throw ConfigError(
      fmt::format("--parallel leaves the batch of all ranks open, which is stated for networks "
                  "that are cut by their layers, as {}. Add --global-batch.",
                  network.name()));
}

/// Sets what a rank is: a device, or as many cores of a processor as were stated. Returns the word
/// for ranks, and a note on processors.
std::pair<std::string, std::string> set_ranks(const Cluster& cluster, int cores, Run& run) {
  if (cluster.device.kind == DeviceKind::gpu) {
    if (cores == 0) return {"GPUs", ""};
    throw ConfigError(
        fmt::format("--cores-per-rank says what a rank is on processors, and the ranks of cluster "
                    "{} are GPUs. Leave it out.",
                    cluster.name));
  }
  if (cores == 0) {
    return {"processors",
            fmt::format("A rank is one of the {} of a node; --cores-per-rank 1 makes it a core.",
                        counted(cluster.devices_per_node, "processor"))};
  }
  if (cores > cluster.host.cores) {
    throw ConfigError(
        fmt::format("--cores-per-rank is {}, and a node of cluster {} has {}. Take "
                    "fewer.",
                    cores, cluster.name, counted(cluster.host.cores, "core")));
  }
  run.ranks_per_node = cluster.host.cores / cores;
  return {cores == 1 ? "cores" : "ranks",
          fmt::format("A rank is {}, with its share of the processor: {} a node.",
                      counted(cores, "core"), counted(run.ranks_per_node, "rank"))};
}

/// Answers plans on one machine, with the measured points of the first plan.
class Stages {
 public:
  Stages(const Network& network, const model::Machine& machine, Run run, std::int64_t global_batch)
      : network_(&network), machine_(&machine), run_(std::move(run)), batch_(global_batch) {}

  /// Takes the points, whose replicas follow their ranks. Returns doubts on them, in sentences.
  /// Throws ConfigError for one that no device of this kind can reach.
  std::vector<std::string> measure(AskedPlan plan, const std::vector<MeasuredIteration>& points) {
    if (machine_->fitted) {
      throw ConfigError("--measured sharpens answers from data sheets alone. Leave it out.");
    }
    measured_ = plan.plan;
    plan.states_data = false;
    std::vector<std::string> doubts;
    for (const MeasuredIteration& point : points) {
      const ParallelPlan numbered = plan.on(point.ranks);
      const model::StagedTraining before = predict(numbered, point.ranks);
      Run there = run_;
      there.ranks = point.ranks;
      MeasuredOption::expect_below_peak(*network_, *machine_, there, static_cast<double>(batch_),
                                        point.time);
      MeasuredOption::expect_likely(point.ranks, point.time, before.total);
      points_.push_back(model::staged_point(numbered, before, point.time));
      if (points_.back().surprise <= 1) continue;
      doubts.push_back(fmt::format(
          "Your point at {} ranks, {}, lies outside of the 90 % interval of its prediction, {} to "
          "{}, and is followed all the same: check its batch, plan and framework.",
          point.ranks, to_text(point.time), to_text(before.low()), to_text(before.high())));
    }
    return doubts;
  }

  [[nodiscard]] StagedAnswer answer(const ParallelPlan& plan, int ranks) const {
    StagedAnswer row{plan, ranks, predict(plan, ranks)};
    if (points_.empty()) return row;
    model::meet_points(points_, plan, is_measured(row), row.training);
    return row;
  }

 private:
  /// Whether a row is of the measured plan, on as many ranks, by its numbers.
  [[nodiscard]] bool is_measured(const StagedAnswer& row) const {
    ParallelPlan measured = measured_;
    measured.data = row.plan.data;
    if (measured == row.plan) return true;
    const parallel::NetworkFacts batch{.global_batch = batch_};
    if (!parallel::faults(measured, row.ranks, batch).empty()) return false;
    return is_same_training(measured, predict(measured, row.ranks), row.plan, row.training);
  }

  [[nodiscard]] model::StagedTraining predict(const ParallelPlan& plan, int ranks) const {
    Run run = run_;
    run.ranks = ranks;
    return model::predict_stages(*network_, *machine_, run, plan, batch_);
  }

  const Network* network_;
  const model::Machine* machine_;
  Run run_;
  std::int64_t batch_;
  ParallelPlan measured_ = {};
  std::vector<model::StagedPoint> points_ = {};
};

/// Adds the rows of all plans, and returns whether all can run. One that cannot is left out with a
/// note, unless it is the only one.
bool add_staged_rows(const Stages& stages, const std::vector<AskedPlan>& plans,
                     const std::vector<std::string>& ranks, StagedAnswers& answers) {
  std::vector<std::string> left_out;
  for (const AskedPlan& plan : plans) {
    const std::vector<int> counts = ranks_of(plan, ranks);
    for (const int count : counts) {
      try {
        answers.rows.push_back(stages.answer(plan.on(count), count));
      } catch (const ConfigError& error) {
        if (plans.size() == 1 && counts.size() == 1) throw;
        left_out.push_back(fmt::format("left out: {} on {}: {}", parallel::to_text(plan.plan),
                                       counted(count, "rank"), sentence_of(error)));
      }
    }
  }
  if (answers.rows.empty()) {
    throw ConfigError(fmt::format("No plan can run. The first {}", left_out.front()));
  }
  answers.notes.insert(answers.notes.end(), left_out.begin(), left_out.end());
  return left_out.empty();
}

/// Writes the time line of each plan for ui.perfetto.dev, completely or not at all.
void trace_stages(const StagedAnswers& answers, const std::string& path) {
  if (path == "-") {
    throw ConfigError(
        "--trace - would mix the time line with the answer on standard output. Name a file.");
  }
  refuse_shared_output(path, fmt::format("the trace {}", path));
  refuse_foreign_file(path, "a trace of dlscale", is_trace);
  std::vector<report::TracedPlan> plans;
  for (const StagedAnswer& row : answers.rows) {
    const std::string plan = parallel::to_text(row.plan);
    plans.push_back({fmt::format("{} on {}{}{}", answers.network, answers.cluster,
                                 plan.empty() ? "" : ", ", plan),
                     row.training.shape, model::staged_timeline(row.training, row.plan),
                     row.training.total});
  }
  write_output(path, report::parallel_trace(plans));
}

report::Document document_of(const StagedAnswers& answers, const StagesQuestion& question) {
  if (question.explain) return report::stages_explanation_document(answers);
  if (question.memory) return report::stages_memory_document(answers);
  return question.fits ? report::stages_fit_document(answers) : report::stages_document(answers);
}

}  // namespace

StagesAnswer stages_answer(const Network& network, const model::Machine& machine, Run run,
                           const StagesQuestion& question) {
  std::vector<AskedPlan> plans;
  std::ranges::transform(question.plans, std::back_inserter(plans), asked_plan);
  for (const AskedPlan& plan : plans) model::check_stage_axes(network, plan.plan);
  refuse_others(network, question);
  StagedAnswers answers;
  answers.network = network.name();
  answers.cluster = machine.cluster.name;
  answers.dtype = dtype_name(run.dtype);
  answers.samples = network.samples();
  answers.global_batch = *question.global_batch;
  answers.all_notes = question.notes;
  const auto [workers, note] = set_ranks(machine.cluster, question.cores_per_rank, run);
  answers.workers = workers;
  if (!note.empty()) answers.notes.push_back(note);
  if (!question.is_dtype_stated) {
    answers.notes.push_back(fmt::format("Taken, since not said: --dtype {}.", answers.dtype));
  }
  answers.notes.insert(answers.notes.end(), question.assumed.begin(), question.assumed.end());
  Stages stages(network, machine, run, answers.global_batch);
  if (question.measured->is_given()) {
    const double tokens = network.is_over_sequences() ? network.input().height : 0;
    const auto points = question.measured->iterations(
        network.samples(), static_cast<double>(answers.global_batch), tokens);
    std::ranges::move(stages.measure(plans.front(), points), std::back_inserter(answers.notes));
    std::ranges::transform(points, std::back_inserter(answers.measured), &MeasuredIteration::ranks);
  }
  const bool all_run = add_staged_rows(stages, plans, question.ranks, answers);
  answers.more = options_that_say_more(
      answers.measured.empty() ? fmt::format("\"{}=SECONDS s\"", answers.rows.front().ranks) : "");
  if (!question.trace.empty()) trace_stages(answers, question.trace);
  const bool all_fit = all_run && std::ranges::all_of(answers.rows, [](const StagedAnswer& row) {
                         return row.training.fits();
                       });
  return {document_of(answers, question), all_fit};
}

}  // namespace dlscale::app
