#include "core/run/run.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/base/error.hpp"
#include "core/run/schedule_settings.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr Words<DType, 4> dtypes{
    {{DType::f32, "f32"}, {DType::tf32, "tf32"}, {DType::bf16, "bf16"}, {DType::f16, "f16"}}};
constexpr Words<Schedule, 8> schedules{
    {{Schedule::sequential, "sequential"},
     {Schedule::wait_free, "wait_free"},
     {Schedule::bucketed, "bucketed"},
     {Schedule::merged_greedy, "merged_greedy"},
     {Schedule::merged, "merged"},
     {Schedule::horovod, "horovod"},
     {Schedule::reduce_scatter_overlap, "reduce_scatter_overlap"},
     {Schedule::priority, "priority"}}};
constexpr Words<Synchronisation, 2> synchronisations{
    {{Synchronisation::all_reduce, "all_reduce"},
     {Synchronisation::parameter_server, "parameter_server"}}};
constexpr Words<Sharding, 4> shardings{{{Sharding::largest_first, "largest_first"},
                                        {Sharding::mxnet, "mxnet"},
                                        {Sharding::tensorflow, "tensorflow"},
                                        {Sharding::tensorflow_greedy, "tensorflow_greedy"}}};
constexpr Words<Transport, 3> transports{{{Transport::collectives, "collectives"},
                                          {Transport::grpc, "grpc"},
                                          {Transport::grpc_rdma, "grpc_rdma"}}};
constexpr Words<Callers, 3> callers_words{{{Callers::ranks, "ranks"},
                                           {Callers::nodes, "nodes"},
                                           {Callers::several_nodes, "several_nodes"}}};
constexpr Words<InputCopy, 2> input_copies{
    {{InputCopy::on_path, "on_path"}, {InputCopy::ahead, "ahead"}}};
constexpr Words<Normalisation, 2> normalisations{
    {{Normalisation::host, "host"}, {Normalisation::device, "device"}}};
constexpr Words<Launch, 2> launches{{{Launch::eager, "eager"}, {Launch::graph, "graph"}}};
static_assert(in_order(dtypes) && dtypes.size() == all_dtypes.size());
static_assert(in_order(schedules) && schedules.size() == all_schedules.size());
static_assert(in_order(synchronisations) && synchronisations.size() == all_synchronisations.size());
static_assert(in_order(shardings) && shardings.size() == all_shardings.size());
static_assert(in_order(transports) && transports.size() == all_transports.size());
static_assert(in_order(callers_words) && callers_words.size() == all_callers.size());
static_assert(in_order(input_copies) && in_order(normalisations) && in_order(launches));

void check_range(std::string_view field, int value, int most) {
  if (value >= 1 && value <= most) return;
  throw ConfigError(
      fmt::format("{} is {}. Write a whole number from 1 to {}.", field, value, most));
}

void check_settings(const ScheduleSettings& settings) {
  if (!(settings.cycle > Seconds() && settings.cycle <= Seconds(10))) {
    throw ConfigError(
        fmt::format("cycle is {} (at most 10 s, and longer than nothing). Write, for "
                    "example, \"1 ms\".",
                    to_text(settings.cycle)));
  }
  if (settings.fusion_threshold < Bytes()) {
    throw ConfigError(fmt::format("fusion_threshold is {}. Write 0 B or more.",
                                  to_text(settings.fusion_threshold)));
  }
  for (const auto& [name, size] :
       {std::pair("bucket", settings.bucket), std::pair("first_bucket", settings.first_bucket)}) {
    if (size >= 4_B) continue;
    throw ConfigError(fmt::format("{} is {} (less than one gradient element). Write 4 B or more.",
                                  name, to_text(size)));
  }
  if (settings.partition < 4_B) {
    throw ConfigError(
        fmt::format("partition is {} (less than one gradient element). Write 4 B or more.",
                    to_text(settings.partition)));
  }
  check_range("credit", settings.credit, 1024);
}

void check_server(const Run& run) {
  const int servers = run.settings.servers;
  const bool by_nodes = run.settings.callers != Callers::ranks;
  // One rank does not communicate, whoever owns the parameters.
  const bool too_many = run.ranks > 1 && servers > most_servers(run);
  if (too_many && by_nodes) {
    throw ConfigError(fmt::format(
        "servers is {}, and {} ranks are on {} node{} (with callers {} a server is a process, of "
        "which a node has one at most). Write a number from 1 to that of the nodes.",
        servers, run.ranks, node_count(run), node_count(run) == 1 ? "" : "s",
        callers_name(run.settings.callers)));
  }
  if (servers < 0 || too_many) {
    throw ConfigError(
        fmt::format("servers is {}, of {} ranks (a server is a rank that owns parameters). Write a "
                    "number from 1 "
                    "to the number of ranks.",
                    servers, run.ranks));
  }
  if (run.synchronisation == Synchronisation::all_reduce) return;
  if (!goes_with_server(run.schedule)) {
    throw ConfigError(fmt::format(
        "schedule {} orders all-reduces, which a parameter server does not make. Take sequential, "
        "wait_free or bucketed with it, or synchronise by all_reduce.",
        schedule_name(run.schedule)));
  }
  if (!goes_with_transport(run.settings.transport, run.settings.callers)) {
    throw ConfigError(fmt::format(
        "callers {} and transport {} are no way to reach parameter servers: in collectives all "
        "ranks take part, and none calls. Take transport grpc or grpc_rdma, or callers ranks.",
        callers_name(run.settings.callers), transport_name(run.settings.transport)));
  }
  if (goes_with_sharding(run.schedule, run.settings.sharding)) return;
  throw ConfigError(fmt::format(
      "sharding {} gives tensors to servers one by one, and schedule {} packs them into messages "
      "that belong to one server each. Take sequential or wait_free, or sharding {}.",
      sharding_name(run.settings.sharding), schedule_name(run.schedule),
      sharding_name(Sharding::largest_first)));
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return name_of(dtype, dtypes);
}

DType parse_dtype(std::string_view name) {
  if (name.find(',') != std::string_view::npos) {
    throw ConfigError(fmt::format(
        "\"{}\" is a list, where one precision is taken. Name one, and measure each of the others "
        "by a command of its own.",
        name));
  }
  return value_of("precision", name, dtypes);
}

std::string_view schedule_name(Schedule schedule) {
  return name_of(schedule, schedules);
}

Schedule parse_schedule(std::string_view name) {
  return value_of("schedule", name, schedules);
}

std::string_view synchronisation_name(Synchronisation synchronisation) {
  return name_of(synchronisation, synchronisations);
}

Synchronisation parse_synchronisation(std::string_view name) {
  return value_of("way to synchronise ranks", name, synchronisations);
}

std::string_view sharding_name(Sharding sharding) {
  return name_of(sharding, shardings);
}

Sharding parse_sharding(std::string_view name) {
  return value_of("rule for parameter servers", name, shardings);
}

std::string_view transport_name(Transport transport) {
  return name_of(transport, transports);
}

Transport parse_transport(std::string_view name) {
  return value_of("way to reach parameter servers", name, transports);
}

std::string_view callers_name(Callers callers) {
  return name_of(callers, callers_words);
}

Callers parse_callers(std::string_view name) {
  return value_of("word for who calls parameter servers", name, callers_words);
}

std::string_view input_copy_name(InputCopy copy) {
  return name_of(copy, input_copies);
}

InputCopy parse_input_copy(std::string_view name) {
  return value_of("way to copy the input", name, input_copies);
}

std::string_view normalisation_name(Normalisation normalisation) {
  return name_of(normalisation, normalisations);
}

Normalisation parse_normalisation(std::string_view name) {
  return value_of("place to normalise pictures", name, normalisations);
}

std::string_view launch_name(Launch launch) {
  return name_of(launch, launches);
}

Launch parse_launch(std::string_view name) {
  return value_of("way to launch kernels", name, launches);
}

int node_count(const Run& run) {
  return (run.ranks + run.ranks_per_node - 1) / run.ranks_per_node;
}

int most_servers(const Run& run) {
  return run.settings.callers == Callers::ranks ? run.ranks : node_count(run);
}

int server_count(const Run& run) {
  return run.settings.servers == 0 ? most_servers(run) : run.settings.servers;
}

void check(const Run& run) {
  if (run.network.empty()) {
    throw ConfigError("network is empty. Name a network, such as resnet50.");
  }
  if (run.cluster.empty()) {
    throw ConfigError("cluster is empty. Name a cluster, such as p40x16 or local.");
  }
  check_range("ranks", run.ranks, 1'000'000);
  check_range("ranks_per_node", run.ranks_per_node, 1'000'000);
  check_range("batch", run.batch, most_images_per_rank);
  check_range("cores_per_rank", run.cores_per_rank, 65'536);
  check_range("compute_threads", run.compute_threads, 65'536);
  check_range("loader_threads", run.loader_threads, 65'536);
  check_range("prefetch", run.prefetch, 1024);
  check_settings(run.settings);
  check_server(run);
  check_launch(run.launch, run.schedule);
}

}  // namespace dlscale
