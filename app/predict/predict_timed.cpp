#include "app/predict/predict_timed.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/network/timed_layers.hpp"
#include "core/run/run.hpp"
#include "core/run/schedule_settings.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/timed_iteration.hpp"
#include "report/prediction/sweep_table.hpp"

namespace dlscale::app {
namespace {

void check_bucket(const std::optional<Bytes>& bucket, const std::vector<Schedule>& schedules) {
  if (!bucket) return;
  if (*bucket <= Bytes()) {
    throw ConfigError(
        "--bucket: a bucket of no bytes holds no gradient. Write, for example, 25 MiB.");
  }
  if (std::ranges::find(schedules, Schedule::bucketed) == schedules.end()) {
    throw ConfigError(
        "--bucket changes nothing here: it is a setting of --schedule bucketed. Ask for that, or "
        "leave it out.");
  }
}

void refuse_sweeps(const SweptAxes& axes) {
  if (axes.batches.size() == 1 && axes.links.size() == 1) return;
  throw ConfigError(
      "--layer-times holds what one batch takes, on one link. Name one batch and one link, and "
      "time the layers again for another batch.");
}

/// Layers and messages that were timed leave nothing to ask a machine for.
void refuse_hardware(const TrainingOptions& options) {
  const bool by_sheets = !options.cluster.empty();
  if (!by_sheets && options.machine.empty()) return;
  throw ConfigError(
      fmt::format("--message-times and {} exclude each other beside --layer-times. Leave one out.",
                  by_sheets ? "--cluster" : "--machine"));
}

}  // namespace

void PredictTimed::declare(CLI::App& verb) {
  CLI::Option* layers =
      verb.add_option("--layer-times", layers_,
                      "Layers that you timed (docs/how-to/predict-from-layer-times.md)")
          ->type_name("FILE");
  layers->needs(verb.get_option("--batch"));
  layers->needs(verb.get_option("--ranks"));
  exclude_others(verb, *layers,
                 {"--ranks", "--batch", "--schedule", "--message-times", "--log-ranks", "--bucket",
                  "--cluster", "--machine", "--all-reduce", "--inter-node-bandwidth",
                  "--inter-node-latency", "--cycle", "--fusion-threshold", "--input-copy",
                  "--straggler-spread", "--format", "--color", "--quiet", "--output"});
}

report::Document PredictTimed::predict(const TrainingOptions& options, const SweptAxes& axes,
                                       const model::RankSpread& spread) const {
  refuse_sweeps(axes);
  const std::optional<Bytes> bucket = options.values.bucket;
  check_bucket(bucket, axes.schedules);
  const TimedLayers layers = read_timed_layers(layers_);
  std::vector<TimedMessage> timed;
  std::vector<std::string> notes;
  std::optional<model::Machine> machine;
  Run run;
  run.network = layers.name;
  run.batch = axes.batches.front();
  const MessageTimesOption& messages = options.messages;
  if (!messages.given()) {
    options.check_hardware();
    machine = options.find_machine(axes.links.front());
    run.cluster = machine->cluster.name;
    run.ranks_per_node = machine->cluster.devices_per_node;
  } else {
    refuse_hardware(options);
    const MessageLog log = messages.read(axes.ranks.back());
    timed = timed_all_reduces(log.rows);
    notes = log.notes;
    run.cluster = std::filesystem::path(messages.file).filename().string();
  }
  run.input_copy = options.values.input_copy.value_or(run.input_copy);
  ExchangeValues exchange = exchange_of(options.values);
  exchange.bucket.reset();  // predict_timed() takes it instead
  apply(exchange, axes.schedules, run);
  const model::MessageSource source{timed, machine ? &*machine : nullptr};
  std::vector<model::Prediction> rows;
  for (const int ranks : axes.ranks) {
    for (const Schedule schedule : axes.schedules) {
      run.ranks = ranks;
      run.schedule = schedule;
      check(run);
      const bool cut = schedule == Schedule::bucketed;
      rows.push_back(
          model::predict_timed(layers, source, run, cut ? bucket : std::nullopt, spread));
    }
  }
  return report::timed_document({layers, run.cluster, bucket, rows, notes});
}

}  // namespace dlscale::app
