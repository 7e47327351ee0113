// dlscale predict: predicts the phases of an iteration on N workers, the speed-up, and its bound.
#include "model/sgd_iter/predict.hpp"
#include "app/cli/option_values.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/number_sweep.hpp"
#include "app/cli/rank0_error.hpp"
#include "app/cli/verb.hpp"
#include "app/options/framework_option.hpp"
#include "app/options/hardware_options.hpp"
#include "app/options/measured_option.hpp"
#include "app/options/training_cost_options.hpp"
#include "app/options/training_options.hpp"
#include "app/options/training_time_options.hpp"
#include "app/predict/answer_words.hpp"
#include "app/predict/memory_answer.hpp"
#include "app/predict/parallel/plan_remark.hpp"
#include "app/predict/parallel/predict_parallel.hpp"
#include "app/predict/predict_cases.hpp"
#include "app/predict/predict_collective.hpp"
#include "app/predict/predict_out_of_core.hpp"
#include "app/predict/predict_parts.hpp"
#include "app/predict/predict_timed.hpp"
#include "app/predict/stages/predict_stages.hpp"
#include "app/report/answer_kinds.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/run/schedule_settings.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/strong_scaling.hpp"
#include "report/prediction/prediction_summary.hpp"
#include "report/prediction/sweep_table.hpp"
#include "report/prediction/training_time_table.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

struct PredictOptions : TrainingOptions {
  std::vector<std::string> ranks;
  std::vector<std::string> batches{"32"};
  GlobalBatchOption global_batch;
  FrameworkOption framework;
  MeasuredOption measured;
  bool layers = false;
  bool memory = false;
  bool notes = false;
  bool limits = false;
  WhatIfOptions what_if;
  ExplainOptions explain;
  TrainingTimeOptions training;
  TrainingCostOptions cost;
  TraceOption trace;
  StragglerOptions stragglers;
  PredictTimed timed;
  PredictCases cases;
  PredictCollective collective;
  PredictOutOfCore out_of_core;
  PredictParallel parallel;
  DocumentOutput output;
};

/// Predictions for each number of ranks; reasons for missing ones become notes.
std::vector<model::Prediction> predictions_of(const PredictOptions& options, const Network& network,
                                              const model::Machine& machine, const Run& run,
                                              const SweptAxes& axes) {
  const model::RankSpread spread = options.stragglers.spread();
  std::vector<model::Prediction> rows;
  std::vector<std::string> left_out;
  if (axes.global_batch) {
    model::StrongScaling scaling = model::predict_strong(network, machine, run, axes.ranks,
                                                         *axes.global_batch, spread, sentence_of);
    rows = std::move(scaling.rows);
    left_out = std::move(scaling.left_out);
    if (rows.empty()) {
      throw ConfigError(fmt::format("nothing can be predicted. The first: {}.", left_out.front()));
    }
  } else {
    PredictedRanks predicted = predict_each(network, machine, run, axes.ranks, spread);
    rows = std::move(predicted.rows);
    if (rows.empty()) {
      const std::string& why = predicted.left_out.front().why;
      throw ConfigError(why + sharding_advice(network, machine, why));
    }
    for (const auto& [count, why] : predicted.left_out) {
      left_out.push_back(fmt::format("ranks {}: {}", count, why));
    }
  }
  for (const std::string& why : left_out)
    rows.front().notes.push_back(model::remark("left out: " + why));
  return rows;
}

report::Document training_document(const PredictOptions& options, const Network& network,
                                   const model::Machine& machine,
                                   std::span<const model::Prediction> predictions) {
  const report::TrainingGoal goal = options.training.goal(network.name());
  if (!goal.tokens) expect_samples(network, options.training.samples.has_value());
  if (!goal.tokens && !options.cost.asked()) {
    return report::training_time_document(predictions, goal);
  }
  const auto costs = training_costs(options.cost, network, machine, predictions, goal);
  return report::training_time_document(predictions, goal, costs);
}

report::Document answer(const PredictOptions& options, const Network& network,
                        const model::Machine& machine, const Run& run, const SweptAxes& axes,
                        const std::vector<std::string>& assumed) {
  const std::vector<int>& ranks = axes.ranks;
  if (options.layers) return layer_document(network, machine, run, ranks, assumed);
  if (options.explain.asked) {
    return ExplainOptions::document(network, machine, run, ranks, assumed,
                                    axes.global_batch.has_value());
  }
  auto predictions = predictions_of(options, network, machine, run, axes);
  for (model::Prediction& prediction : predictions) {
    add_notes(assumed, prediction);
    note_input(network, machine, prediction);
  }
  cover_plans(network, machine, predictions);
  const std::string by_plan = add_plan_remark(network, machine, predictions);
  if (options.training.asked()) {
    return training_document(options, network, machine, predictions);
  }
  if (options.limits) {
    for (model::Prediction& prediction : predictions) add_limit(network, machine, prediction);
  }
  report::PredictionWords words = words_for(network, machine, predictions);
  if (!by_plan.empty()) words.hints.push_back(by_plan);
  if (options.trace.asked()) words.hints.push_back(options.trace.place());
  return options.notes ? report::prediction_details(predictions, words)
                       : report::prediction_summary(predictions, words);
}

TrainingValues usual_values(Schedule schedule) {
  return {.schedules = {{schedule}}};
}

/// Buckets, as frameworks send by default, on a cluster of data sheets without parameter servers.
/// Else as the engine sends by default.
Schedule usual_schedule(const PredictOptions& options) {
  const TrainingValues& typed = options.values;
  const bool by_servers = typed.synchronisations || typed.servers || typed.shardings ||
                          typed.transports || typed.callers;
  const bool by_sheets = !options.cluster.empty() && options.machine.empty();
  return by_sheets && !by_servers ? Schedule::bucketed : Schedule::wait_free;
}

/// The values of the options: the usual ones below those of the framework below the typed ones.
void resolve_values(const Network& network, PredictOptions& options) {
  const TrainingValues usual = usual_values(usual_schedule(options));
  FrameworkChoice framework;
  if (options.framework.is_given()) {
    try {
      framework = options.framework.choice(network, options, {.usual_schedules = *usual.schedules});
    } catch (const ConfigError& error) {
      throw ConfigError(sentence_of(error) + framework_advice(network, options.framework.name));
    }
  }
  options.told = framework.notes;
  for (const std::string& note : options.stragglers.notes()) options.told.push_back(note);
  options.values = overlay(overlay(usual, framework.values), options.values);
}

SweptAxes find_axes(const PredictOptions& options) {
  SweptAxes axes{swept_counts("--ranks", options.ranks),
                 {},
                 *options.values.schedules,
                 options.inter_node.each(),
                 options.global_batch.find(),
                 options.limits};
  if (!axes.global_batch) axes.batches = swept_counts("--batch", options.batches);
  refuse_too_many(axes);
  return axes;
}

/// Refuses options that need one batch, schedule and link, or equal ranks, together with a sweep or
/// stragglers.
void refuse_contradictions(const PredictOptions& options, const SweptAxes& axes) {
  constexpr std::string_view training = "--epochs, --target, --epochs-at or --tokens";
  const std::array<std::pair<std::string_view, bool>, 4> details{
      {{"--layers", options.layers},
       {"--explain", options.explain.asked},
       {"--trace", options.trace.asked()},
       {training, options.training.asked()}}};
  for (const auto& [name, asked] : details) {
    const bool one_batch = name == training ? !axes.beyond_ranks() : !axes.several();
    if (!asked || one_batch) continue;
    throw ConfigError(
        fmt::format("{} tells of one batch, schedule and link, and several are asked for. Name one "
                    "of each, or leave {} out.",
                    name, name));
  }
  if (options.layers) options.stragglers.refuse_beside("--layers");
  if (options.explain.asked) options.stragglers.refuse_beside("--explain");
  if (options.trace.asked()) options.stragglers.refuse_beside("--trace");
}

bool wants_details(const PredictOptions& options) {
  return options.layers || options.explain.asked || options.trace.asked() ||
         options.training.asked();
}

report::Document memory_of(const PredictOptions& options, const Network& network,
                           const SweptAxes& axes) {
  model::Machine machine = options.find_machine(axes.links.front());
  std::vector<std::string> assumed = what_is_assumed(options, options.what_if, network, machine);
  Run run = options.find_run(network.name(), machine, axes.schedules, exchange_of(options.values));
  const std::vector<MemoryQuestion> questions = memory_questions(machine.cluster, axes);
  run.ranks = questions.back().ranks;
  run.batch = questions.back().batch;
  if (std::string by_plan = plan_memory_remark(network, machine, run); !by_plan.empty()) {
    assumed.push_back(std::move(by_plan));
  }
  return memory_answer(network, machine, run, questions, assumed);
}

report::Document out_of_core_answer(const PredictOptions& options, const Network& network) {
  SweptAxes axes = find_axes(options);
  if (axes.batches.size() > 1) {
    throw ConfigError("--out-of-core tells of one batch, and several are asked for. Name one.");
  }
  model::Machine machine = options.find_machine();
  const std::vector<std::string> assumed =
      what_is_assumed(options, options.what_if, network, machine);
  Run run = options.find_run(network.name(), machine, axes.schedules, exchange_of(options.values));
  run.batch = axes.batches.front();
  return options.out_of_core.predict(network, machine, run, assumed);
}

/// The level of --measured, if it was given. The first batch and schedule named were measured.
std::optional<model::MeasuredLevel> measured_level(PredictOptions& options, const Network& network,
                                                   const SweptAxes& axes) {
  if (!options.measured.is_given()) return {};
  const auto batch = [&](int ranks) -> std::optional<int> {
    return axes.global_batch ? share_of(*axes.global_batch, ranks) : axes.batches.front();
  };
  const std::vector<model::MeasuredPoint> points = options.measured.read(network.samples(), batch);
  if (axes.several()) {
    options.told.push_back(fmt::format("your points count as measured with batch {}, {}",
                                       points.front().batch,
                                       schedule_name(axes.schedules.front())));
  }
  const model::Machine machine = options.find_machine(measured_link(options, axes.links.front()));
  const Run run =
      options.find_run(network.name(), machine, axes.schedules, exchange_of(options.values));
  return MeasuredOption::level(network, machine, run, points);
}

/// A plan of a network that is cut by its layers.
ExitCode predict_stages(PredictOptions& options, const Network& network) {
  resolve_values(network, options);
  model::Machine machine = options.find_machine();
  const std::vector<std::string> assumed = options.what_if.apply(machine, options.run.dtype);
  const Run run = options.find_run(network.name(), machine, *options.values.schedules,
                                   exchange_of(options.values));
  StagesQuestion question;
  question.plans = options.parallel.plans();
  question.ranks = options.ranks;
  question.global_batch = options.global_batch.find();
  question.is_dtype_stated = options.parallel.states_dtype();
  question.measured = &options.measured;
  question.cores_per_rank = options.parallel.states_cores() ? options.run.cores_per_rank : 0;
  question.fits = options.parallel.fits();
  question.memory = options.memory;
  question.explain = options.explain.asked;
  question.notes = options.notes;
  question.trace = options.trace.path;
  question.tokens = options.training.tokens;
  question.assumed = assumed;
  const StagesAnswer answer = stages_answer(network, machine, run, question);
  options.output.write(answer.document);
  return options.parallel.fits() && !answer.fits ? ExitCode::bad_input : ExitCode::ok;
}

ExitCode predict_parallel(PredictOptions& options) {
  options.cost.check(options.training.asked());
  if (options.measured.is_given() && !options.what_if.device.empty()) {
    throw ConfigError(
        "--measured beside --device leaves open which GPU was measured. Leave one of them out, or "
        "name a cluster file that has this GPU.");
  }
  TrainingOptions usual_length = options;  // scores of a long one would be absurdly large
  usual_length.sequence = 0;
  if (!options.parallel.has_branches() && !model::memory::is_decoder(usual_length.find_network())) {
    return predict_stages(options, options.find_network());
  }
  if (options.parallel.states_cores()) {
    throw ConfigError(
        "--cores-per-rank says what a stage of a CNN is on processors, and this plan is timed on "
        "GPUs alone. Leave it out.");
  }
  return options.parallel.predict({.training = &options,
                                   .device = options.what_if.device,
                                   .ranks = options.ranks,
                                   .is_dtype_stated = options.parallel.states_dtype(),
                                   .global_batch = options.global_batch.find(),
                                   .framework = options.framework.name,
                                   .measured = &options.measured,
                                   .memory = options.memory,
                                   .notes = options.notes,
                                   .explain = options.explain.asked,
                                   .trace = options.trace.path,
                                   .tokens = options.training.tokens,
                                   .cost = &options.cost},
                                  options.output);
}

ExitCode predict(PredictOptions& options) {
  if (options.cases.are_given()) return options.cases.predict(options.output);
  if (options.collective.is_given()) {
    options.output.write(options.collective.predict(options, options.ranks));
    return ExitCode::ok;
  }
  if (options.timed.are_given()) {
    options.values = overlay(usual_values(Schedule::wait_free), options.values);
    options.output.write(
        options.timed.predict(options, find_axes(options), options.stragglers.spread()));
    return ExitCode::ok;
  }
  if (options.out_of_core.is_given() && options.ranks.empty()) options.ranks = {"1"};
  if (options.parallel.is_given()) return predict_parallel(options);
  if (options.network.empty() || options.ranks.empty()) {
    throw CLI::RequiredError("--network,--ranks");
  }
  if (options.memory && options.notes) {
    throw ConfigError(
        "--notes adds nothing to --memory, except beside --parallel. Leave one of them out.");
  }
  options.check_hardware();
  const Network network = options.find_network();
  resolve_values(network, options);
  const SweptAxes axes = find_axes(options);
  refuse_contradictions(options, axes);
  options.training.check();
  options.cost.check(options.training.asked());
  if (options.memory) {
    options.output.write(memory_of(options, network, axes));
    return ExitCode::ok;
  }
  if (options.out_of_core.is_given()) {
    options.output.write(out_of_core_answer(options, network));
    return ExitCode::ok;
  }
  const std::optional<model::MeasuredLevel> level = measured_level(options, network, axes);
  if (axes.beyond_ranks() || (axes.global_batch && !wants_details(options))) {
    options.output.write(report::sweep_document(predict_sweep(
        options, options.what_if, options.stragglers.spread(), network, axes, level)));
    return ExitCode::ok;
  }
  model::Machine machine = options.find_machine(axes.links.front());
  set_level(level, axes.links.front(), options, machine);
  const std::vector<std::string> assumed =
      what_is_assumed(options, options.what_if, network, machine);
  Run run = options.find_run(network.name(), machine, axes.schedules, exchange_of(options.values));
  run.batch =
      axes.global_batch ? share_of(*axes.global_batch, axes.ranks.front()) : axes.batches.front();
  if (wants_details(options)) check_details(network, machine, run, axes);
  options.what_if.check(run);
  options.trace.write(network, machine, run, axes.ranks);
  options.output.write(answer(options, network, machine, run, axes, assumed));
  return ExitCode::ok;
}

/// --memory tells of memory, for which time, links and schedules do not count.
void refuse_beside_memory(CLI::App& verb) {
  exclude_others(verb, *verb.get_option("--memory"),
                 {"--network", "--sequence",     "--cluster",   "--machine",  "--ranks",
                  "--batch",   "--global-batch", "--framework", "--dtype",    "--normalize",
                  "--fuse",    "--device",       "--set",       "--parallel", "--fits",
                  "--notes",   "--format",       "--color",     "--quiet",    "--output"});
}

/// The limit is a column of rows with images a second.
void refuse_beside_limits(CLI::App& verb) {
  for (const char* other :
       {"--layers", "--explain", "--epochs", "--target", "--epochs-at", "--tokens"}) {
    verb.get_option("--limits")->excludes(verb.get_option(other));
  }
}

void group_predict_options(CLI::App& verb) {
  group_options(
      verb,
      {{"What to predict",
        {"--network", "--sequence", "--ranks", "--batch", "--global-batch", "--parallel",
         "--memory", "--fits", "--explain", "--limits", "--epochs", "--target", "--tokens"}},
       {"On what", {"--cluster", "--machine", "--measured", "--inter-node-bandwidth", "--device"}},
       {"How it trains", {"--framework", "--schedule", "--dtype"}},
       {"Output", {"--notes", "--format", "--output"}},
       {"Advanced: messages alone", {"--collective", "--sizes", "--algorithm"}},
       {"Advanced: hardware", {"--inter-node-latency", "--out-of-core", "--set", "--sharp"}},
       {"Advanced: exchange of gradients",
        {"--synchronisation", "--all-reduce", "--bucket", "--first-bucket", "--cycle",
         "--fusion-threshold", "--partition", "--credit", "--servers", "--sharding", "--transport",
         "--server-clients"}},
       {"Advanced: computing and input",
        {"--threads", "--cores-per-rank", "--loader-threads", "--prefetch", "--input-copy",
         "--normalize", "--launch", "--fuse", "--straggler-spread"}},
       {"Advanced: time to train",
        {"--epochs-at", "--samples", "--evaluation", "--evaluations-per-epoch", "--start"}},
       {"Advanced: cost of a training",
        {"--cost-per-gpu-hour", "--mtbf", "--checkpoint-every", "--spares", "--power"}},
       {"Advanced: other inputs and output",
        {"--layer-times", "--message-times", "--log-ranks", "--cases", "--model", "--layers",
         "--trace", "--color", "--quiet"}}});
}

void declare_predict(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<PredictOptions>();
  options->declare_hardware(verb);
  verb.get_option("--network")->required(false);  // not required with --cases and --layer-times
  verb.add_option("--ranks", options->ranks,
                  "Numbers of workers: 1,2,4, or a sweep such as 1..1024:x2 or 1..64:+8")
      ->delimiter(',')
      ->type_name("SWEEP")
      ->check(count_sweep());
  verb.add_option("--batch", options->batches,
                  "Images or sequences per rank and iteration, a list or a sweep")
      ->delimiter(',')
      ->type_name("SWEEP")
      ->check(count_sweep())
      ->capture_default_str();
  options->global_batch.declare(verb);
  options->framework.declare(verb);
  options->measured.declare(verb);
  verb.add_option_function<std::vector<std::string>>(
          "--schedule",
          [&values = options->values](const std::vector<std::string>& names) {
            values.schedules = parse_words("--schedule", names, parse_schedule);
          },
          "When gradients travel, one or several")
      ->type_name(one_of(all_schedules, schedule_name))
      ->delimiter(',')
      ->default_str("bucketed by data sheets, else wait_free");
  declare_synchronisation(verb, options->values);
  declare_transport(verb, options->values);
  declare_settings(verb, options->values);
  declare_buckets(verb, options->values);
  options->declare_training(verb);
  verb.add_flag("--layers", options->layers,
                "Print what each layer adds, and where its times come from");
  verb.add_flag("--memory", options->memory,
                "Print the memory that a rank needs with each batch, and whether it fits");
  verb.add_flag("--notes", options->notes,
                "Print all phases of the iteration, and what the answer assumes");
  verb.add_flag("--limits", options->limits,
                "Add what data sheets allow at full peak, full bandwidths and line rate");
  options->what_if.declare(verb);
  options->explain.declare(verb);
  options->training.declare(verb);
  options->cost.declare(verb);
  options->trace.declare(verb);
  options->stragglers.declare(verb);
  options->output.declare(verb);
  options->output.state_options(verb, open_like_page);
  options->messages.declare(verb);
  options->timed.declare(verb);
  options->cases.declare(verb);
  options->collective.declare(verb);
  options->out_of_core.declare(verb);
  options->parallel.declare(verb);
  refuse_beside_memory(verb);
  refuse_beside_limits(verb);
  group_predict_options(verb);
  verb.footer(
      "Example: dlscale predict --network alexnet --cluster p40x16 --ranks 1,2,4,8,16\n"
      "Example: dlscale predict --network resnet50 --cluster p40x16 --ranks 1..64:x2 --batch "
      "32,64\n"
      "Several batches, schedules or bandwidths make a row each, and the best are marked.");
  verb.callback([options, &result] { result = predict(*options); });
}

}  // namespace

extern const Verb predict_verb{
    "predict", "Predict the phases of an iteration, speed-up and what bounds it", declare_predict};

}  // namespace dlscale::app
