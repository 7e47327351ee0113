#include "app/options/training_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <system_error>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/run/run.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"

namespace dlscale::app {
namespace {

template <class T>
void lay(const std::optional<T>& above, std::optional<T>& value) {
  if (above) value = above;
}

template <class T>
std::optional<T> first_of(const std::optional<std::vector<T>>& list) {
  return list && !list->empty() ? std::optional(list->front()) : std::nullopt;
}

}  // namespace

TrainingValues overlay(const TrainingValues& below, const TrainingValues& above) {
  TrainingValues values = below;
  lay(above.schedules, values.schedules);
  lay(above.synchronisations, values.synchronisations);
  lay(above.servers, values.servers);
  lay(above.shardings, values.shardings);
  lay(above.transports, values.transports);
  lay(above.callers, values.callers);
  lay(above.cycle, values.cycle);
  lay(above.fusion_threshold, values.fusion_threshold);
  lay(above.bucket, values.bucket);
  lay(above.first_bucket, values.first_bucket);
  lay(above.partition, values.partition);
  lay(above.credit, values.credit);
  lay(above.input_copy, values.input_copy);
  lay(above.normalisation, values.normalisation);
  lay(above.launch, values.launch);
  lay(above.all_reduce, values.all_reduce);
  lay(above.software, values.software);
  lay(above.exchange_traits, values.exchange_traits);
  return values;
}

ExchangeValues exchange_of(const TrainingValues& values) {
  return {.synchronisation = first_of(values.synchronisations),
          .cycle = values.cycle,
          .fusion_threshold = values.fusion_threshold,
          .bucket = values.bucket,
          .first_bucket = values.first_bucket,
          .partition = values.partition,
          .credit = values.credit,
          .servers = first_of(values.servers),
          .sharding = first_of(values.shardings),
          .transport = first_of(values.transports),
          .callers = first_of(values.callers)};
}

namespace {

/// Loader threads, by default as follows. On GPUs every core of the rank's share of the host reads
/// images; on processors one thread runs beside compute.
int loader_threads(const TrainingOptions& options, const Cluster& cluster) {
  if (options.run.loader_threads > 0) return options.run.loader_threads;
  if (cluster.device.kind == DeviceKind::cpu) return 1;
  return std::max(1, cluster.host.cores / cluster.devices_per_node);
}

/// The input copy; by default that of the training engine.
InputCopy input_copy(const TrainingOptions& options, const Cluster& cluster) {
  if (options.values.input_copy) return *options.values.input_copy;
  return cluster.device.kind == DeviceKind::gpu ? InputCopy::ahead : InputCopy::on_path;
}

/// The place of normalisation; by default that of the training engine.
Normalisation normalisation(const TrainingOptions& options, const Cluster& cluster) {
  if (options.values.normalisation) return *options.values.normalisation;
  return cluster.device.kind == DeviceKind::gpu ? Normalisation::device : Normalisation::host;
}

model::Machine choose_machine(const TrainingOptions& options) {
  if (!options.machine.empty()) return model::load_machine(options.machine);
  if (options.cluster == "local") {
    throw ConfigError(
        "--cluster local has no data sheet to predict from. Measure it (dlscale run quickstart) "
        "and give the fitted "
        "description with --machine.");
  }
  return model::nominal_machine(load_cluster(options.cluster));
}

/// Adds an option whose text `parse` reads into one of the values.
template <class T, class Parse>
CLI::Option* add_value(CLI::App& verb, TrainingValues& values, const ValueOption<T>& option,
                       Parse parse, const std::string& doc) {
  const auto set = [&values, member = option.value, parse](const std::string& text) {
    values.*member = parse(text);
  };
  return verb.add_option_function<std::string>(std::string(option.name), set, doc);
}

std::string as_text(const std::string& text) {
  return text;
}

template <class Enum>
auto one_word(Enum (*parse)(std::string_view)) {
  return [parse](const std::string& text) { return std::vector{parse(text)}; };
}

template <class Q>
auto quantity(const char* option) {
  return [option](const std::string& text) { return parse_quantity<Q>(text, option); };
}

/// The number of servers; 0 stands for all ranks.
std::vector<int> server_counts(const std::string& text) {
  return {text == "all" ? 0 : parse_whole_number(text, "--servers")};
}

}  // namespace

Network TrainingOptions::find_network() const {
  return load_network_for(network, sequence);
}

void TrainingOptions::check_hardware() const {
  if (machine.empty() != cluster.empty()) return;
  throw ConfigError(
      "Give the hardware once: --cluster NAME for a data-sheet prediction, or --machine FILE for "
      "a fitted one.");
}

model::Machine TrainingOptions::find_machine(const InterNodeOptions& link) const {
  model::Machine found = choose_machine(*this);
  if (values.all_reduce) model::set_all_reduce(found, *values.all_reduce);
  messages.apply(found);
  link.apply(found.cluster);
  found.inter_node_stated = link.given();
  if (values.software) found.software = *values.software;
  found.exchange_traits = values.exchange_traits;
  return found;
}

Run TrainingOptions::find_run(const std::string& network_name, const model::Machine& on,
                              const std::vector<Schedule>& schedules,
                              const ExchangeValues& exchange) const {
  if (!few_bits.empty()) {
    throw ConfigError(fmt::format(
        "--dtype {} is for parallel plans of decoders (--parallel), whose products alone run in "
        "it. Name f32, tf32, bf16 or f16.",
        few_bits));
  }
  Run found = run;
  found.network = network_name;
  found.cluster = on.cluster.name;
  found.schedule = schedules.front();
  apply(exchange, schedules, found);
  found.ranks_per_node = on.cluster.devices_per_node;
  found.loader_threads = loader_threads(*this, on.cluster);
  found.input_copy = app::input_copy(*this, on.cluster);
  found.normalisation = normalisation(*this, on.cluster);
  found.launch = values.launch.value_or(Launch::eager);
  return found;
}

void TrainingOptions::declare_hardware(CLI::App& verb) {
  verb.add_option("--network", network, "Network: a name in configs/networks, or a YAML file")
      ->type_name("NETWORK")
      ->required();
  verb.add_option("--sequence", sequence,
                  "Tokens of a sequence (default: as the network's file says)")
      ->type_name("N")
      ->check(positive_count());
  verb.add_option("--cluster", cluster,
                  "Hardware by data sheets: a name in configs/clusters, or a YAML file")
      ->type_name("CLUSTER");
  verb.add_option("--machine", machine,
                  "Hardware by measurements: a machine file of dlscale calibrate")
      ->type_name("FILE");
}

void TrainingOptions::declare_training(CLI::App& verb) {
  verb.add_option_function<std::string>(
          "--dtype",
          [this](const std::string& text) {
            if (text == "fp8" || text == "fp4") {
              few_bits = text;
              return;
            }
            try {
              run.dtype = parse_dtype(text);
            } catch (const ConfigError& error) {
              throw ConfigError(fmt::format(
                  "{} Plans of decoders (--parallel) also take fp8 and fp4.", error.what()));
            }
          },
          "Precision; plans of decoders also fp8, fp4")
      ->type_name(one_of(all_dtypes, dtype_name))
      ->default_str("f32, there bf16");
  verb.add_option("--threads", run.compute_threads, "Compute threads per rank, on CPUs")
      ->capture_default_str();
  verb.add_option("--cores-per-rank", run.cores_per_rank,
                  "Cores that the threads of a rank share, on CPUs")
      ->capture_default_str();
  verb.add_option("--loader-threads", run.loader_threads,
                  "Threads per rank that read and decode (default: on GPUs an even share of the "
                  "node's cores, else 1)")
      ->check(positive_count());
  verb.add_option("--prefetch", run.prefetch, "Batches decoded ahead")->capture_default_str();
  add_value(verb, values, value_options::input_copy, parse_input_copy,
            "Copy each batch to the device at the start of its iteration, or ahead of it "
            "(default: on GPUs ahead, else on_path)")
      ->type_name("{on_path,ahead}");
  add_value(verb, values, value_options::normalisation, parse_normalisation,
            "Normalise pictures on the host, which sends f32, or on the device, which gets "
            "bytes (default: on GPUs device, else host)")
      ->type_name("{host,device}");
  add_value(verb, values, value_options::launch, parse_launch,
            "Launch each kernel, or a graph that is recorded once")
      ->type_name("{eager,graph}")
      ->default_str("eager");
  add_value(verb, values, value_options::all_reduce, as_text,
            fmt::format("Algorithm of all-reduces by its closed form: {}; nccl, by the cost "
                        "model of NCCL; quickest, by data sheets alone (default: as "
                        "measured, else the rule of the cluster)",
                        fmt::join(model::all_reduce_overrides(), ", ")))
      ->type_name("ALGORITHM");
  verb.add_option_function<std::string>(
          "--fuse", [this](const std::string& text) { run.fuse_relu = parse_fusion(text); },
          "Make ReLUs part of the layers before them, where possible")
      ->type_name("{relu,none}")
      ->default_str("none");
  inter_node.declare(verb);
}

void declare_synchronisation(CLI::App& verb, TrainingValues& values) {
  add_value(verb, values, value_options::synchronisation, one_word(parse_synchronisation),
            "How ranks get the same parameters (default: all_reduce)")
      ->type_name(one_of(all_synchronisations, synchronisation_name));
  add_value(verb, values, value_options::servers, server_counts,
            "Number of ranks that own parameters (default: all)")
      ->type_name("N");
  add_value(verb, values, value_options::sharding, one_word(parse_sharding),
            "Which server owns which parameters, in whole messages or as the frameworks "
            "place tensors (default: largest_first)")
      ->type_name(one_of(all_shardings, sharding_name));
}

void declare_transport(CLI::App& verb, TrainingValues& values) {
  add_value(verb, values, value_options::transport, one_word(parse_transport),
            "How ranks reach servers: by collectives as bench e2e does, by gRPC calls, or "
            "by calls with tensors beside them (default: collectives)")
      ->type_name(one_of(all_transports, transport_name));
  add_value(verb, values, value_options::callers, one_word(parse_callers),
            "Processes that call servers with grpc and grpc_rdma: each rank; one process of "
            "each node; or the same, without calls on a single node (default: ranks)")
      ->type_name(one_of(all_callers, callers_name));
}

void declare_buckets(CLI::App& verb, TrainingValues& values) {
  add_value(verb, values, value_options::bucket, quantity<Bytes>("--bucket"),
            "Size at which buckets close (default: 1 MiB, then 25 MiB)")
      ->type_name("SIZE");
  add_value(verb, values, value_options::first_bucket, quantity<Bytes>("--first-bucket"),
            "Size at which the first bucket closes, if it differs")
      ->type_name("SIZE");
}

void declare_settings(CLI::App& verb, TrainingValues& values) {
  add_value(verb, values, value_options::cycle, quantity<Seconds>("--cycle"),
            "horovod: time between the wake-ups of its thread (default: \"1 ms\")")
      ->type_name("TIME");
  const auto none_or_size = [](const std::string& text) {  // Horovod's 0 packs nothing
    return text == "0" ? Bytes() : parse_quantity<Bytes>(text, "--fusion-threshold");
  };
  add_value(verb, values, value_options::fusion_threshold, none_or_size,
            "horovod: most bytes packed into one message (default: \"128 MiB\")")
      ->type_name("SIZE");
  add_value(verb, values, value_options::partition, quantity<Bytes>("--partition"),
            "priority: largest part of a gradient (default: \"4096000 B\")")
      ->type_name("SIZE");
  add_value(
      verb, values, value_options::credit,
      [](const std::string& text) { return parse_whole_number(text, "--credit"); },
      "priority: parts in flight (default: 4)")
      ->type_name("N");
}

void refuse_twice(std::string_view option, std::string_view name) {
  throw ConfigError(
      fmt::format("{} names {} twice (both would say the same). Name it once.", option, name));
}

void GlobalBatchOption::declare(CLI::App& verb) {
  verb.add_option("--global-batch", text,
                  "Images or sequences per iteration on all ranks, in place of --batch")
      ->type_name("N")
      ->excludes(verb.get_option("--batch"));
}

std::int64_t counted_images(std::string_view option, std::string_view text) {
  constexpr std::int64_t most = 1'000'000'000;
  std::int64_t images = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, images);
  if (error == std::errc() && stop == end && images >= 1 && images <= most) return images;
  throw ConfigError(
      fmt::format("{} is \"{}\" (samples are counted). Write one whole number from 1 to {}.",
                  option, escape_for_terminal(text), most));
}

std::optional<std::int64_t> GlobalBatchOption::find() const {
  if (text.empty()) return std::nullopt;
  return counted_images("--global-batch", text);
}

int share_of(std::int64_t global_batch, int ranks) {
  const std::int64_t share = global_batch / ranks;
  if (share > most_images_per_rank) {
    throw ConfigError(
        fmt::format("--global-batch {} is {} samples for each of {} ranks, and a rank takes {} at "
                    "most. Take more ranks, or fewer samples.",
                    global_batch, share, ranks, most_images_per_rank));
  }
  if (share * ranks == global_batch) return static_cast<int>(share);
  throw ConfigError(
      fmt::format("--global-batch {} is not a whole number of samples for each of {} ranks. Take "
                  "a multiple of the ranks.",
                  global_batch, ranks));
}

}  // namespace dlscale::app
