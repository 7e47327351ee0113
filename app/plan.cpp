// dlscale plan: finds the best schedule, bucket size, batch and number of ranks within limits, or
// the best of all parallel plans of a transformer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/verb.hpp"
#include "app/options/framework_option.hpp"
#include "app/options/measured_option.hpp"
#include "app/options/training_options.hpp"
#include "app/options/training_time_options.hpp"
#include "app/predict/plan_options.hpp"
#include "app/predict/plan_parallel.hpp"
#include "app/report/answer_kinds.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/text/progress_line.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/plan/training_plan.hpp"
#include "report/prediction/plan_table.hpp"

namespace dlscale::app {
namespace {

struct PlanVerbOptions {
  TrainingOptions training;
  PlanOptions plan;
  ParallelPlanOptions parallel;
  FrameworkOption framework;
  MeasuredOption measured;
  DocumentOutput output;
};

/// The values of the options: those of the framework below the typed ones.
TrainingValues resolved_values(const Network& network, PlanVerbOptions& options) {
  if (!options.framework.is_given()) return options.training.values;
  const FrameworkChoice framework =
      options.framework.choice(network, options.training,
                               {.sizes_of_buckets = !options.plan.buckets.empty(),
                                .usual_schedules = usual_schedules(true)});
  options.training.told = framework.notes;
  return overlay(framework.values, options.training.values);
}

/// The values that all exchanges of a plan share. It chooses among the others.
ExchangeValues shared_exchange(const TrainingValues& values) {
  return {.cycle = values.cycle,
          .fusion_threshold = values.fusion_threshold,
          .bucket = values.bucket,
          .first_bucket = values.first_bucket,
          .partition = values.partition,
          .credit = values.credit};
}

/// The exchange that measured points belong to. On one rank all are alike; on several it is the
/// only one, or buckets, as `predict` assumes, where none were named.
const model::Exchange& measured_exchange(const PlanVerbOptions& options,
                                         const std::vector<model::MeasuredPoint>& points,
                                         const std::vector<model::Exchange>& exchanges) {
  const bool alone = std::ranges::all_of(
      points, [](const model::MeasuredPoint& point) { return point.ranks == 1; });
  if (alone || exchanges.size() == 1) return exchanges.front();
  const bool named = options.training.values.schedules || !options.plan.buckets.empty() ||
                     options.training.values.synchronisations;
  const auto buckets = std::ranges::find(exchanges, Schedule::bucketed, &model::Exchange::schedule);
  if (!named && buckets != exchanges.end()) return *buckets;
  throw ConfigError(
      "--measured leaves open which of several schedules was measured on several ranks. Name that "
      "one alone, or measure one rank.");
}

/// Gives the machine the level of the measured points, and says what they count as.
void set_level(const PlanVerbOptions& options, const Network& network, Run run,
               model::PlanQuestion& question, model::Machine& machine) {
  const model::PlanSpace& space = question.space;
  const auto batch = [&](int ranks) -> std::optional<int> {
    if (space.global_batch) return share_of(*space.global_batch, ranks);
    return space.batches.size() == 1 ? std::optional(space.batches.front()) : std::nullopt;
  };
  const std::vector<model::MeasuredPoint> points = options.measured.read(network.samples(), batch);
  const model::Exchange& exchange = measured_exchange(options, points, space.exchanges);
  apply(exchange, run);
  machine.level = MeasuredOption::level(network, machine, run, points);
  if (space.exchanges.size() > 1 && points.back().ranks > 1) {
    question.notes.push_back(
        fmt::format("your points count as measured with {}", exchange_text(exchange)));
  }
  if (!machine.level->doubt.empty()) question.notes.push_back(machine.level->doubt);
}

ExitCode plan(PlanVerbOptions& options) {
  options.training.check_hardware();
  TrainingOptions usual_length = options.training;
  usual_length.sequence = 0;  // a long one would make a network whose scores are absurdly large
  const Network usual = usual_length.find_network();
  if (options.parallel.are_meant(usual)) {
    options.output.write(
        options.parallel.answer(usual, options.training, options.plan, options.framework.name,
                                ProgressLine::kind_for(options.output.is_quiet())));
    return ExitCode::ok;
  }
  const Network network = options.training.find_network();
  expect_samples(network, options.plan.samples > 0, model::memory::is_decoder(usual));
  options.training.values = resolved_values(network, options);
  model::Machine machine = options.training.find_machine();
  model::PlanQuestion question =
      options.plan.question(options.training.values, network.name(), machine.cluster.workers());
  for (const std::string& note : options.training.told) question.notes.push_back(note);
  std::vector<Schedule> schedules;
  for (const model::Exchange& exchange : question.space.exchanges) {
    schedules.push_back(exchange.schedule);
  }
  const Run run = options.training.find_run(network.name(), machine, schedules,
                                            shared_exchange(options.training.values));
  if (options.measured.is_given()) set_level(options, network, run, question, machine);
  options.output.write(
      report::plan_document(model::plan_training(network, machine, run, question)));
  return ExitCode::ok;
}

void group_plan_options(CLI::App& verb) {
  group_options(
      verb,
      {{"What to plan", {"--network", "--epochs", "--target", "--tokens"}},
       {"On what", {"--cluster", "--machine", "--measured"}},
       {"What to choose from",
        {"--ranks", "--max-ranks", "--batch", "--global-batch", "--schedules", "--parallel",
         "--framework"}},
       {"Limits and objective", {"--time-limit", "--cost-per-gpu-hour", "--budget", "--objective"}},
       {"Output", {"--format", "--output"}},
       {"Advanced: parallel plans of transformers", {"--fits", "--launch-options", "--device"}},
       {"Advanced: hardware", {"--inter-node-bandwidth", "--inter-node-latency"}},
       {"Advanced: exchange of gradients",
        {"--synchronisation", "--all-reduce", "--buckets", "--cycle", "--fusion-threshold",
         "--partition", "--credit", "--servers", "--sharding", "--transport", "--server-clients"}},
       {"Advanced: computing and input",
        {"--sequence", "--dtype", "--threads", "--cores-per-rank", "--loader-threads", "--prefetch",
         "--input-copy", "--normalize", "--launch", "--fuse"}},
       {"Advanced: search and output",
        {"--epochs-at", "--samples", "--max-global-batch", "--critical-batch", "--simulate-top",
         "--color", "--quiet"}}});
}

void declare_plan(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<PlanVerbOptions>();
  options->training.declare_hardware(verb);
  options->plan.declare(verb, options->training.values);
  options->framework.declare(verb);
  options->measured.declare(verb);
  declare_settings(verb, options->training.values);
  options->training.declare_training(verb);
  options->output.declare(verb);
  options->output.state_options(verb, open_like_page);
  options->parallel.declare(verb);
  group_plan_options(verb);
  verb.footer(
      "Exit code 2: no plan is within the limits.\n"
      "Example: dlscale plan --network resnet50 --cluster p40x16 --target imagenet-75.9\n"
      "Example: dlscale plan --network alexnet --cluster v100x16_ib100 --epochs 90 --time-limit "
      "7d\n"
      "Example: dlscale plan --network llama3_70b --cluster dgx_h100 --ranks 512 --tokens 15T");
  verb.callback([options, &result] { result = plan(*options); });
}

}  // namespace

extern const Verb plan_verb{
    "plan", "Choose schedule, buckets, batch and ranks, or a parallel plan, under limits",
    declare_plan};

}  // namespace dlscale::app
