// dlscale predict: the phases of an iteration on N workers, their speed-up, and what bounds it.
#include "model/sgd_iter/predict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/document_output.hpp"
#include "app/inter_node_options.hpp"
#include "app/option_values.hpp"
#include "app/positive.hpp"
#include "app/predict_cases.hpp"
#include "app/verb.hpp"
#include "core/cluster.hpp"
#include "core/fuse.hpp"
#include "core/network.hpp"
#include "core/schedule_settings.hpp"
#include "model/machine.hpp"
#include "model/sgd_iter/asked_all_reduce.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "report/layer_table.hpp"
#include "report/prediction_table.hpp"

namespace dlscale::app {
namespace {

struct PredictOptions {
  std::string network;
  std::string cluster;
  std::string machine;
  std::vector<int> ranks;
  Run run;
  std::string dtype = "f32";
  std::string schedule = "wait_free";
  ScheduleOptions exchange;
  std::string input_copy;
  std::string normalise;
  std::string launch = "eager";
  std::string all_reduce;
  std::string fuse = "none";
  bool layers = false;
  InterNodeOptions inter_node;
  PredictCases cases;
  DocumentOutput output;
};

/// Where none are asked for: on GPUs every core of the rank's share of the host reads pictures, on
/// processors one thread beside compute.
int loader_threads(const PredictOptions& options, const Cluster& cluster) {
  if (options.run.loader_threads > 0) return options.run.loader_threads;
  if (cluster.device.kind == DeviceKind::cpu) return 1;
  return std::max(1, cluster.host.cores / cluster.devices_per_node);
}

/// Where none is asked for: as the engine does it.
InputCopy input_copy(const PredictOptions& options, const Cluster& cluster) {
  if (!options.input_copy.empty()) return parse_input_copy(options.input_copy);
  return cluster.device.kind == DeviceKind::gpu ? InputCopy::ahead : InputCopy::on_path;
}

/// Where one is asked for: in place of what was measured of a library. The rules of clusters are
/// what data sheets are read by.
void choose_all_reduce(const PredictOptions& options, model::Machine& machine) {
  if (options.all_reduce.empty()) return;
  Cluster& cluster = machine.cluster;
  const std::vector<std::string> rules{"ring", "hierarchical", "nccl"};
  const bool is_rule = std::ranges::find(rules, options.all_reduce) != rules.end();
  if (is_rule) cluster.all_reduce = parse_all_reduce_rule(options.all_reduce);
  if (machine.fitted || !is_rule) machine.all_reduce_asked = options.all_reduce;
  if (!is_rule) model::check_asked_all_reduce(options.all_reduce);
  if (options.all_reduce != "nccl" || cluster.nccl) return;
  throw ConfigError(fmt::format(
      "--all-reduce nccl needs to know what NCCL's cost model does, and cluster {} does not say "
      "it. "
      "Add the key nccl to the cluster (docs/CONFIG.md), or ask for ring or hierarchical.",
      cluster.name));
}

/// Likewise.
Normalisation normalisation(const PredictOptions& options, const Cluster& cluster) {
  if (!options.normalise.empty()) return parse_normalisation(options.normalise);
  return cluster.device.kind == DeviceKind::gpu ? Normalisation::device : Normalisation::host;
}

model::Machine choose_machine(const PredictOptions& options) {
  if (!options.machine.empty()) return model::load_machine(options.machine);
  if (options.cluster == "local") {
    throw ConfigError(
        "--cluster local has no data sheet to predict from. Measure it (dlscale run quickstart) "
        "and give the fitted "
        "description with --machine.");
  }
  return model::nominal_machine(load_cluster(options.cluster));
}

report::Document layer_document(const Network& network, const model::Machine& machine, Run run,
                                const std::vector<int>& ranks) {
  std::vector<model::LayerTimes> times;
  for (const int count : ranks) {
    run.ranks = count;
    times.push_back(model::layer_times(network, machine, run));
  }
  return report::layer_document(as_run(network, run), times);
}

ExitCode predict(const PredictOptions& options) {
  if (options.cases.are_given()) return options.cases.predict(options.output.path);
  if (options.network.empty()) throw CLI::RequiredError("--network");
  if (options.ranks.empty()) throw CLI::RequiredError("--ranks");
  if (options.machine.empty() == options.cluster.empty()) {
    throw ConfigError(
        "Give the hardware once: --cluster NAME for a data-sheet prediction, or --machine FILE for "
        "a fitted one.");
  }
  refuse_repeated("--ranks", options.ranks);
  const Network network = load_network(options.network);
  model::Machine machine = choose_machine(options);
  choose_all_reduce(options, machine);
  options.inter_node.apply(machine.cluster);
  machine.inter_node_stated = options.inter_node.given();
  Run run = options.run;
  run.network = network.name();
  run.cluster = machine.cluster.name;
  run.dtype = parse_dtype(options.dtype);
  run.schedule = parse_schedule(options.schedule);
  apply(options.exchange, std::span(&run.schedule, 1), run);
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.loader_threads = loader_threads(options, machine.cluster);
  run.input_copy = input_copy(options, machine.cluster);
  run.normalisation = normalisation(options, machine.cluster);
  run.launch = parse_launch(options.launch);
  run.fuse_relu = parse_fusion(options.fuse);
  for (const int ranks : options.ranks) {
    Run of_so_many = run;
    of_so_many.ranks = ranks;
    check(of_so_many);
  }
  options.output.write(options.layers ? layer_document(network, machine, run, options.ranks)
                                      : report::prediction_document(
                                            model::predict(network, machine, run, options.ranks)));
  return ExitCode::ok;
}

/// What schedules can be tuned by.
void declare_exchange(CLI::App& verb, ScheduleOptions& options) {
  verb.add_option(
      "--synchronisation", options.synchronisation,
      "all_reduce (default), or parameter_server: each rank updates the parameters that "
      "it owns (with sequential, wait_free, bucketed)");
  verb.add_option("--cycle", options.cycle,
                  "horovod: from one wake-up of its thread to the next (default: \"1 ms\")");
  verb.add_option("--fusion-threshold", options.fusion_threshold,
                  "horovod: the most that is packed into one message (default: \"128 MiB\")");
  verb.add_option("--partition", options.partition,
                  "priority: the most of a part of a gradient (default: \"4096000 B\")");
  verb.add_option("--credit", options.credit, "priority: parts under way at once (default: 4)");
  verb.add_option("--servers", options.servers,
                  "parameter_server: ranks that own parameters (default: all)");
}

void declare(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<PredictOptions>();
  options->run.batch = 32;
  options->run.loader_threads = 0;
  verb.add_option("--network", options->network, "A name in configs/networks, or a YAML file");
  verb.add_option("--cluster", options->cluster,
                  "A name in configs/clusters, or a YAML file: data-sheet prediction");
  verb.add_option("--machine", options->machine,
                  "A machine file of dlscale calibrate: fitted prediction");
  verb.add_option("--ranks", options->ranks, "Numbers of workers: 1,2,4")
      ->delimiter(',')
      ->check(positive_count());
  verb.add_option("--batch", options->run.batch, "Images per rank and iteration")
      ->capture_default_str();
  verb.add_option("--dtype", options->dtype, "f32, tf32, bf16 or f16")->capture_default_str();
  verb.add_option("--schedule", options->schedule,
                  "When gradients travel: sequential, wait_free, bucketed, merged_greedy, merged, "
                  "horovod, reduce_scatter_overlap or priority")
      ->capture_default_str();
  declare_exchange(verb, options->exchange);
  verb.add_option("--threads", options->run.compute_threads,
                  "Compute threads per rank (CPU devices)")
      ->capture_default_str();
  verb.add_option("--cores-per-rank", options->run.cores_per_rank,
                  "Cores the threads of a rank share (CPU devices)")
      ->capture_default_str();
  verb.add_option("--loader-threads", options->run.loader_threads,
                  "Threads that read and decode, per rank (default: on GPUs an even share of the "
                  "node's cores, else 1)")
      ->check(positive_count());
  verb.add_option("--prefetch", options->run.prefetch, "Batches decoded ahead")
      ->capture_default_str();
  verb.add_option("--input-copy", options->input_copy,
                  "When batches reach the device: on_path, or ahead, while it computes the "
                  "iteration before (default: on GPUs ahead, as training does, else on_path)");
  verb.add_option(
      "--normalise", options->normalise,
      "Where pictures are normalised: host, so that f32 travels to the device, or "
      "device, so that bytes do (default: on GPUs device, as training does, else host)");
  verb.add_option(
          "--launch", options->launch,
          "How GPUs are given their work: eager, every kernel anew, or graph, recorded once")
      ->capture_default_str();
  verb.add_option(
      "--all-reduce", options->all_reduce,
      fmt::format("How gradients are added, by closed form, whatever was measured of the library: "
                  "{}, or nccl, by NCCL's own cost model (default: as measured, else what the "
                  "cluster says, else ring)",
                  fmt::join(model::asked_all_reduces(), ", ")));
  verb.add_option("--fuse", options->fuse,
                  "relu: ReLUs are parts of the layers before them, where they can be, as with "
                  "bench e2e --fuse relu; best on a machine whose fused kernels were measured by "
                  "bench conv "
                  "--fuse relu; or none")
      ->capture_default_str();
  verb.add_flag("--layers", options->layers,
                "What each layer adds, and where its times come from, instead of phases");
  options->inter_node.declare(verb);
  options->output.declare(verb);
  options->cases.declare(verb);
  verb.footer(
      "Example: dlscale predict --network alexnet --cluster p40x16 --ranks 1,2,4,8,16\n"
      "Or what others published, each from a point of its series: dlscale predict --cases "
      "cases.jsonl -o predictions.jsonl");
  verb.callback([options, &result] { result = predict(*options); });
}

}  // namespace

extern const Verb predict_verb{
    "predict", "Predict the phases of an iteration, speed-up and what bounds it", declare};

}  // namespace dlscale::app
