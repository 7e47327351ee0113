#include "app/predict/predict_parts.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/rank0_error.hpp"
#include "app/predict/answer_words.hpp"
#include "app/predict/parallel/plan_remark.hpp"
#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/results/trace_event.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "model/sgd_iter/iteration_trace.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/strong_scaling.hpp"
#include "model/what_if/explain.hpp"
#include "model/what_if/sheet_limit.hpp"
#include "report/prediction/explanation_table.hpp"
#include "report/prediction/layer_table.hpp"
#include "report/prediction/prediction_table.hpp"

namespace dlscale::app {
namespace {

/// Adds the rows of one batch, schedule and link.
class Rows {
 public:
  Rows(const Network& network, const model::Machine& machine, model::RankSpread spread,
       std::vector<std::string> assumed, const SweptAxes& axes, report::Sweep& sweep)
      : network_(&network),
        machine_(&machine),
        spread_(spread),
        assumed_(std::move(assumed)),
        global_batch_(axes.global_batch),
        limits_(axes.limits),
        sweep_(&sweep) {}

  void add(const Run& run, std::span<const int> ranks, const std::optional<LinkSpec>& link) {
    if (global_batch_) {
      add_strong(run, ranks, link);
      return;
    }
    PredictedRanks predicted = predict_each(*network_, *machine_, run, ranks, spread_);
    for (model::Prediction& prediction : predicted.rows) add_row(std::move(prediction), link);
    for (const auto& [count, why] : predicted.left_out) {
      sweep_->left_out.push_back(fmt::format("ranks {}, batch {}, {}: {}", count, run.batch,
                                             schedule_name(run.schedule), why));
    }
  }

 private:
  void add_strong(const Run& run, std::span<const int> ranks, const std::optional<LinkSpec>& link) {
    model::StrongScaling scaling = model::predict_strong(*network_, *machine_, run, ranks,
                                                         *global_batch_, spread_, sentence_of);
    for (model::Prediction& prediction : scaling.rows) add_row(std::move(prediction), link);
    for (const std::string& why : scaling.left_out) {
      sweep_->left_out.push_back(fmt::format("{}, {}", schedule_name(run.schedule), why));
    }
    if (!scaling.rows.empty()) sweep_->speedup_over = scaling.speedup_over;
  }
  void add_row(model::Prediction prediction, const std::optional<LinkSpec>& link) {
    cover_plans(*network_, *machine_, std::span(&prediction, 1));
    add_notes(assumed_, prediction);
    note_input(*network_, *machine_, prediction);
    if (limits_) add_limit(*network_, *machine_, prediction);
    sweep_->rows.push_back({std::move(prediction), link});
  }

  const Network* network_;
  const model::Machine* machine_;
  model::RankSpread spread_;
  std::vector<std::string> assumed_;
  std::optional<std::int64_t> global_batch_;
  bool limits_;
  report::Sweep* sweep_;
};

}  // namespace

void refuse_too_many(const SweptAxes& axes) {
  constexpr std::size_t most_swept_rows = 10'000;
  const double rows = static_cast<double>(axes.ranks.size()) *
                      static_cast<double>(std::max<std::size_t>(1, axes.batches.size())) *
                      static_cast<double>(axes.schedules.size()) *
                      static_cast<double>(axes.links.size());
  if (rows <= static_cast<double>(most_swept_rows)) return;
  throw ConfigError(
      fmt::format("the sweep has {:.0f} rows, and each takes a full prediction (the limit is {}). "
                  "Take larger steps, or ask dlscale plan, which looks for the best of millions.",
                  rows, most_swept_rows));
}

std::vector<std::string> what_is_assumed(const TrainingOptions& options,
                                         const WhatIfOptions& what_if, const Network& network,
                                         model::Machine& machine) {
  std::vector<std::string> assumed = options.told;
  for (std::string& note : options.messages.notes(machine)) assumed.push_back(std::move(note));
  for (std::string& one : what_if.apply(machine, options.run.dtype)) {
    assumed.push_back(std::move(one));
  }
  for (std::string& one : unusual_choices(network, machine, options.run.dtype)) {
    assumed.push_back(std::move(one));
  }
  return assumed;
}

void add_limit(const Network& network, const model::Machine& machine,
               model::Prediction& prediction) {
  prediction.sheet_limit = model::sheet_limit(network, machine.cluster, prediction.run);
}

void note_input(const Network& network, const model::Machine& machine,
                model::Prediction& prediction) {
  const std::string said = model::input_sentence(network, machine, prediction);
  if (!said.empty()) prediction.notes.push_back(model::remark(said));
}

PredictedRanks predict_each(const Network& network, const model::Machine& machine, const Run& run,
                            std::span<const int> ranks, const model::RankSpread& spread) {
  PredictedRanks predicted;
  try {
    predicted.rows = model::predict(network, machine, run, ranks, spread);
    return predicted;
  } catch (const ConfigError& error) {
    if (ranks.size() == 1) {
      predicted.left_out.push_back({ranks.front(), sentence_of(error)});
      return predicted;
    }
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    PredictedRanks one = predict_each(network, machine, run, ranks.subspan(i, 1), spread);
    std::ranges::move(one.rows, std::back_inserter(predicted.rows));
    std::ranges::move(one.left_out, std::back_inserter(predicted.left_out));
  }
  return predicted;
}

InterNodeOptions measured_link(const TrainingOptions& options, const InterNodeOptions& asked) {
  const InterNodeOptions own;
  const bool has_link = options.find_machine(own).cluster.inter_node.bandwidth > BytesPerSecond();
  return has_link ? own : asked;
}

void set_level(const std::optional<model::MeasuredLevel>& level, const InterNodeOptions& asked,
               const TrainingOptions& options, model::Machine& machine) {
  machine.level = level;
  if (level && asked.given()) machine.level->other_links = !measured_link(options, asked).given();
}

report::Sweep predict_sweep(const TrainingOptions& options, const WhatIfOptions& what_if,
                            const model::RankSpread& spread, const Network& network,
                            const SweptAxes& axes,
                            const std::optional<model::MeasuredLevel>& level) {
  report::Sweep sweep;
  for (const InterNodeOptions& link : axes.links) {
    model::Machine machine = options.find_machine(link);
    set_level(level, link, options, machine);
    const std::vector<std::string> assumed = what_is_assumed(options, what_if, network, machine);
    std::optional<LinkSpec> stated;
    if (link.given()) stated = machine.cluster.inter_node;
    Rows rows(network, machine, spread, assumed, axes, sweep);
    Run run =
        options.find_run(network.name(), machine, axes.schedules, exchange_of(options.values));
    for (const int batch : axes.global_batch ? std::vector{1} : axes.batches) {
      run.batch = batch;
      for (const Schedule schedule : axes.schedules) {
        run.schedule = schedule;
        what_if.check(run);
        rows.add(run, axes.ranks, stated);
      }
    }
    const bool is_last = &link == &axes.links.back();
    if (is_last && !sweep.rows.empty()) {
      add_plan_remark(network, machine, std::span(&sweep.rows.back().prediction, 1));
    }
  }
  if (sweep.rows.empty()) {
    const std::string& first = sweep.left_out.front();
    throw ConfigError(fmt::format("no combination can be predicted. The first: {}{}", first,
                                  first.ends_with('.') ? "" : "."));
  }
  return sweep;
}

namespace {

/// Converts advice on batches to global batches, since --batch is refused with --global-batch.
void advise_global_batches(const Run& run, model::Explanation& explanation) {
  for (model::Advice& advice : explanation.advice) {
    if (advice.setting != "batch") continue;
    advice.setting = "global batch";
    advice.value = std::to_string(std::stoll(advice.value) * run.ranks);
  }
}

}  // namespace

void ExplainOptions::declare(CLI::App& command) {
  command
      .add_flag("--explain", asked, "Print what bounds the iteration, and what would shorten it")
      ->excludes(command.get_option("--layers"));
}

report::Document ExplainOptions::document(const Network& network, const model::Machine& machine,
                                          Run run, const std::vector<int>& ranks,
                                          const std::vector<std::string>& assumed,
                                          bool global_batch) {
  std::vector<model::Explanation> explanations;
  for (const int count : ranks) {
    run.ranks = count;
    explanations.push_back(model::explain(network, machine, run));
    model::Prediction& explained = explanations.back().prediction;
    cover_plans(network, machine, std::span(&explained, 1));
    if (count == ranks.back()) add_plan_remark(network, machine, std::span(&explained, 1));
    add_notes(assumed, explanations.back().prediction);
    if (global_batch) advise_global_batches(run, explanations.back());
  }
  return report::explanation_document(explanations);
}

report::Document layer_document(const Network& network, const model::Machine& machine, Run run,
                                const std::vector<int>& ranks,
                                const std::vector<std::string>& assumed) {
  std::vector<model::LayerTimes> times;
  for (const int count : ranks) {
    run.ranks = count;
    times.push_back(model::layer_times(network, machine, run));
    auto& notes = times.back().notes;
    for (const std::string& one : assumed) notes.push_back(model::remark(one));
  }
  return report::layer_document(as_run(network, run), times);
}

void check_details(const Network& network, const model::Machine& machine, const Run& run,
                   const SweptAxes& axes) {
  for (const int ranks : axes.ranks) {
    Run of_so_many = run;
    of_so_many.ranks = ranks;
    check(of_so_many);
    if (!axes.global_batch) continue;
    const std::string why = model::share_obstacle(
        as_run(network, of_so_many), machine.cluster, of_so_many, *axes.global_batch,
        model::memory_traits(network, of_so_many.dtype, machine.software));
    if (!why.empty()) throw ConfigError(why);
  }
}

void add_notes(const std::vector<std::string>& notes, model::Prediction& prediction) {
  for (const std::string& note : notes) prediction.notes.push_back(model::remark(note));
}

namespace {

/// Number of iterations in a trace: enough to show the transition between two.
constexpr int iterations_shown = 3;

}  // namespace

void TraceOption::declare(CLI::App& command) {
  command
      .add_option("--trace", path, "File for a time line of three iterations, for ui.perfetto.dev")
      ->type_name("FILE");
}

std::string TraceOption::place() const {
  return fmt::format("The time line is in {}, for https://ui.perfetto.dev.", path);
}

void TraceOption::write(const Network& network, const model::Machine& machine, Run run,
                        const std::vector<int>& ranks) const {
  if (path.empty()) return;
  if (path == "-") {
    throw ConfigError(
        "--trace - would mix the time line with the answer on standard output. Name a file.");
  }
  refuse_shared_output(path, fmt::format("the trace {}", path));
  refuse_foreign_file(path, "a trace of dlscale", is_trace);
  std::vector<model::IterationTrace> traces;
  for (const int count : ranks) {
    run.ranks = count;
    traces.push_back(model::trace_iterations(network, machine, run, iterations_shown));
  }
  write_output(path, report::prediction_trace(traces, network.samples()));
}

}  // namespace dlscale::app
