// dlscale plan: the best schedule, size of buckets, batch and number of ranks under limits.
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "app/document_output.hpp"
#include "app/plan_options.hpp"
#include "app/training_options.hpp"
#include "app/verb.hpp"
#include "core/network.hpp"
#include "model/machine.hpp"
#include "model/plan/training_plan.hpp"
#include "report/plan_table.hpp"

namespace dlscale::app {
namespace {

struct Options {
  TrainingOptions training;
  PlanOptions plan;
  DocumentOutput output;
};

ExitCode plan(const Options& options) {
  options.training.check_hardware();
  const Network network = load_network(options.training.network);
  const model::Machine machine = options.training.find_machine();
  const model::PlanQuestion question =
      options.plan.question(network.name(), machine.cluster.workers());
  std::vector<Schedule> schedules;
  for (const model::Exchange& exchange : question.space.exchanges) {
    schedules.push_back(exchange.schedule);
  }
  const Run run = options.training.find_run(network.name(), machine, schedules);
  options.output.write(
      report::plan_document(model::plan_training(network, machine, run, question)));
  return ExitCode::ok;
}

void declare_plan(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<Options>();
  options->training.declare_hardware(verb);
  options->plan.declare(verb);
  declare_settings(verb, options->training.exchange);
  options->training.declare_training(verb);
  options->output.declare(verb);
  verb.footer(
      "Exit code 2: nothing keeps to the limits.\n"
      "Example: dlscale plan --network resnet50 --cluster p40x16 --target imagenet-75.9 "
      "--time-limit \"7 d\" --objective cost\n"
      "Example: dlscale plan --network alexnet --cluster v100x16_ib100 --gpus 64 --epochs 90 "
      "--buckets 1MiB..64MiB:x2 --cost-per-gpu-hour 2.5 --budget 500");
  verb.callback([options, &result] { result = plan(*options); });
}

}  // namespace

extern const Verb plan_verb{
    "plan", "Choose schedule, buckets, batch and ranks under limits of time and cost",
    declare_plan};

}  // namespace dlscale::app
