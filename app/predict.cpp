// dlscale predict: the phases of an iteration on N workers, their speed-up, and what bounds it.
#include "model/sgd_iter/predict.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/document_output.hpp"
#include "app/explain_options.hpp"
#include "app/number_sweep.hpp"
#include "app/predict_cases.hpp"
#include "app/predict_sweep.hpp"
#include "app/predict_timed.hpp"
#include "app/straggler_options.hpp"
#include "app/trace_option.hpp"
#include "app/training_options.hpp"
#include "app/training_time_options.hpp"
#include "app/verb.hpp"
#include "app/what_if_options.hpp"
#include "core/fuse.hpp"
#include "core/network.hpp"
#include "model/machine.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "report/layer_table.hpp"
#include "report/prediction_table.hpp"
#include "report/sweep_table.hpp"
#include "report/training_time_table.hpp"

namespace dlscale::app {
namespace {

struct PredictOptions : TrainingOptions {
  std::vector<std::string> ranks;
  std::vector<std::string> batches{"32"};
  std::vector<std::string> schedules{"wait_free"};
  bool layers = false;
  WhatIfOptions what_if;
  ExplainOptions explain;
  TrainingTimeOptions training;
  TraceOption trace;
  StragglerOptions stragglers;
  PredictTimed timed;
  PredictCases cases;
  DocumentOutput output;
};

report::Document layer_document(const Network& network, const model::Machine& machine, Run run,
                                const std::vector<int>& ranks,
                                const std::vector<std::string>& assumed) {
  std::vector<model::LayerTimes> times;
  for (const int count : ranks) {
    run.ranks = count;
    times.push_back(model::layer_times(network, machine, run));
    auto& notes = times.back().notes;
    notes.insert(notes.end(), assumed.begin(), assumed.end());
  }
  return report::layer_document(as_run(network, run), times);
}

/// `assumed`: what other hardware was asked about.
report::Document answer(const PredictOptions& options, const Network& network,
                        const model::Machine& machine, const Run& run,
                        const std::vector<int>& ranks, const std::vector<std::string>& assumed) {
  if (options.layers) return layer_document(network, machine, run, ranks, assumed);
  if (options.explain.asked) {
    return ExplainOptions::document(network, machine, run, ranks, assumed);
  }
  auto predictions = model::predict(network, machine, run, ranks, options.stragglers.spread());
  for (model::Prediction& prediction : predictions) add_notes(assumed, prediction);
  return options.training.asked()
             ? report::training_time_document(predictions, options.training.goal())
             : report::prediction_document(predictions);
}

SweptAxes find_axes(const PredictOptions& options) {
  return {swept_counts("--ranks", options.ranks), swept_counts("--batch", options.batches),
          parse_schedules("--schedule", options.schedules), options.inter_node.each()};
}

/// What tells of one batch, schedule and link, or of ranks that are alike.
void refuse_contradictions(const PredictOptions& options, const SweptAxes& axes) {
  const std::array<std::pair<const char*, bool>, 4> details{
      {{"--layers", options.layers},
       {"--explain", options.explain.asked},
       {"--trace", options.trace.asked()},
       {"--epochs or --target", options.training.asked()}}};
  for (const auto& [name, asked] : details) {
    if (!asked || !axes.beyond_ranks()) continue;
    throw ConfigError(
        fmt::format("{} tells of one batch, schedule and link, and several are asked for. Name one "
                    "of each, or leave {} out.",
                    name, name));
  }
  if (options.layers) options.stragglers.refuse_beside("--layers");
  if (options.explain.asked) options.stragglers.refuse_beside("--explain");
  if (options.trace.asked()) options.stragglers.refuse_beside("--trace");
}

ExitCode predict(const PredictOptions& options) {
  if (options.cases.are_given()) return options.cases.predict(options.output.path);
  if (options.timed.are_given()) {
    options.output.write(
        options.timed.predict(options, find_axes(options), options.stragglers.spread()));
    return ExitCode::ok;
  }
  if (options.network.empty()) throw CLI::RequiredError("--network");
  if (options.ranks.empty()) throw CLI::RequiredError("--ranks");
  options.check_hardware();
  const SweptAxes axes = find_axes(options);
  refuse_contradictions(options, axes);
  options.training.check();
  const Network network = load_network(options.network);
  if (axes.beyond_ranks()) {
    options.output.write(report::sweep_document(
        predict_sweep(options, options.what_if, options.stragglers.spread(), network, axes)));
    return ExitCode::ok;
  }
  model::Machine machine = options.find_machine(axes.links.front());
  const std::vector<std::string> assumed =
      options.what_if.apply(machine, parse_dtype(options.dtype));
  Run run = options.find_run(network.name(), machine, axes.schedules);
  run.batch = axes.batches.front();
  for (const int ranks : axes.ranks) {
    Run of_so_many = run;
    of_so_many.ranks = ranks;
    check(of_so_many);
  }
  options.what_if.check(run);
  options.trace.write(network, machine, run, axes.ranks);
  options.output.write(answer(options, network, machine, run, axes.ranks, assumed));
  return ExitCode::ok;
}

void declare_predict(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<PredictOptions>();
  options->declare_hardware(verb);
  verb.get_option("--network")->required(false);  // not with --cases and --layer-times
  verb.add_option("--ranks", options->ranks,
                  "Numbers of workers: 1,2,4, or a sweep: 1..1024:x2 (times 2), 1..64:+8 (plus 8)")
      ->delimiter(',')
      ->check(count_sweep());
  verb.add_option("--batch", options->batches,
                  "Images per rank and iteration; several, or a sweep, as with --ranks")
      ->delimiter(',')
      ->check(count_sweep())
      ->capture_default_str();
  verb.add_option("--schedule", options->schedules,
                  "When gradients travel: sequential, wait_free, bucketed, merged_greedy, merged, "
                  "horovod, reduce_scatter_overlap or priority; several with commas")
      ->delimiter(',')
      ->capture_default_str();
  declare_synchronisation(verb, options->exchange);
  declare_transport(verb, options->exchange);
  declare_settings(verb, options->exchange);
  options->declare_training(verb);
  verb.add_flag("--layers", options->layers,
                "What each layer adds, and where its times come from, instead of phases");
  options->what_if.declare(verb);
  options->explain.declare(verb);
  options->training.declare(verb);
  options->trace.declare(verb);
  options->stragglers.declare(verb);
  options->output.declare(verb);
  options->timed.declare(verb);
  options->cases.declare(verb);
  verb.footer(
      "Several batches, schedules or links between nodes (--bandwidth 10Gb/s,25Gb/s or "
      "1Gb/s..64Gb/s:x2) make a row each, and the best are marked.\n"
      "Example: dlscale predict --network alexnet --cluster p40x16 --ranks 1,2,4,8,16\n"
      "Example: dlscale predict --network resnet50 --cluster p40x16 --ranks 1..64:x2 --batch 32,64 "
      "--schedule wait_free,merged\n"
      "Or from layers that you timed: dlscale predict --layer-times layers.csv --message-times "
      "all_reduce.csv --batch 64 --ranks 2,4,8 --schedule wait_free,merged\n"
      "Or what others published, each from a point of its series: dlscale predict --cases "
      "cases.jsonl -o predictions.jsonl");
  verb.callback([options, &result] { result = predict(*options); });
}

}  // namespace

extern const Verb predict_verb{
    "predict", "Predict the phases of an iteration, speed-up and what bounds it", declare_predict};

}  // namespace dlscale::app
