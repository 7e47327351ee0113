#include "core/run.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "core/error.hpp"
#include "core/parse_word.hpp"
#include "core/quantity_text.hpp"
#include "core/schedule_settings.hpp"

namespace dlscale {
namespace {

constexpr std::array all_input_copies{InputCopy::on_path, InputCopy::ahead};
constexpr std::array all_normalisations{Normalisation::host, Normalisation::device};
constexpr std::array all_launches{Launch::eager, Launch::graph};

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
       {std::pair("first_bucket", settings.first_bucket), std::pair("bucket", settings.bucket)}) {
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
  // One rank exchanges nothing, whoever owns the parameters.
  if (servers < 0 || (run.ranks > 1 && servers > run.ranks)) {
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
  if (goes_with_sharding(run.schedule, run.settings.sharding)) return;
  throw ConfigError(fmt::format(
      "sharding {} gives tensors to servers one by one, and schedule {} packs them into messages "
      "that belong to one server each. Take sequential or wait_free, or sharding {}.",
      sharding_name(run.settings.sharding), schedule_name(run.schedule),
      sharding_name(Sharding::largest_first)));
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::tf32:
      return "tf32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
  }
  fail_expectation("dtype is a DType");
}

DType parse_dtype(std::string_view name) {
  if (name.find(',') != std::string_view::npos) {
    throw ConfigError(fmt::format(
        "\"{}\" is a list, where one precision is taken. Name one, and measure each of the others "
        "by a command of its own.",
        name));
  }
  return parse_word("precision", name, all_dtypes, dtype_name);
}

std::string_view schedule_name(Schedule schedule) {
  switch (schedule) {
    case Schedule::sequential:
      return "sequential";
    case Schedule::wait_free:
      return "wait_free";
    case Schedule::bucketed:
      return "bucketed";
    case Schedule::merged_greedy:
      return "merged_greedy";
    case Schedule::merged:
      return "merged";
    case Schedule::horovod:
      return "horovod";
    case Schedule::reduce_scatter_overlap:
      return "reduce_scatter_overlap";
    case Schedule::priority:
      return "priority";
  }
  fail_expectation("schedule is a Schedule");
}

Schedule parse_schedule(std::string_view name) {
  return parse_word("schedule", name, all_schedules, schedule_name);
}

std::string_view synchronisation_name(Synchronisation synchronisation) {
  switch (synchronisation) {
    case Synchronisation::all_reduce:
      return "all_reduce";
    case Synchronisation::parameter_server:
      return "parameter_server";
  }
  fail_expectation("synchronisation is a Synchronisation");
}

Synchronisation parse_synchronisation(std::string_view name) {
  return parse_word("way to synchronise ranks", name, all_synchronisations, synchronisation_name);
}

std::string_view sharding_name(Sharding sharding) {
  switch (sharding) {
    case Sharding::largest_first:
      return "largest_first";
    case Sharding::mxnet:
      return "mxnet";
    case Sharding::tensorflow:
      return "tensorflow";
    case Sharding::tensorflow_greedy:
      return "tensorflow_greedy";
  }
  fail_expectation("sharding is a Sharding");
}

Sharding parse_sharding(std::string_view name) {
  return parse_word("rule for parameter servers", name, all_shardings, sharding_name);
}

std::string_view transport_name(Transport transport) {
  switch (transport) {
    case Transport::collectives:
      return "collectives";
    case Transport::grpc:
      return "grpc";
    case Transport::grpc_rdma:
      return "grpc_rdma";
  }
  fail_expectation("transport is a Transport");
}

Transport parse_transport(std::string_view name) {
  return parse_word("way to reach parameter servers", name, all_transports, transport_name);
}

std::string_view input_copy_name(InputCopy copy) {
  switch (copy) {
    case InputCopy::on_path:
      return "on_path";
    case InputCopy::ahead:
      return "ahead";
  }
  fail_expectation("copy is an InputCopy");
}

InputCopy parse_input_copy(std::string_view name) {
  return parse_word("way to copy the input", name, all_input_copies, input_copy_name);
}

std::string_view normalisation_name(Normalisation normalisation) {
  switch (normalisation) {
    case Normalisation::host:
      return "host";
    case Normalisation::device:
      return "device";
  }
  fail_expectation("normalisation is a Normalisation");
}

Normalisation parse_normalisation(std::string_view name) {
  return parse_word("place to normalise pictures", name, all_normalisations, normalisation_name);
}

std::string_view launch_name(Launch launch) {
  switch (launch) {
    case Launch::eager:
      return "eager";
    case Launch::graph:
      return "graph";
  }
  fail_expectation("launch is a Launch");
}

Launch parse_launch(std::string_view name) {
  return parse_word("way to launch kernels", name, all_launches, launch_name);
}

int server_count(const Run& run) {
  return run.settings.servers == 0 ? run.ranks : run.settings.servers;
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
  check_range("batch", run.batch, 65'536);
  check_range("cores_per_rank", run.cores_per_rank, 65'536);
  check_range("compute_threads", run.compute_threads, 65'536);
  check_range("loader_threads", run.loader_threads, 65'536);
  check_range("prefetch", run.prefetch, 1024);
  check_settings(run.settings);
  check_server(run);
  check_launch(run.launch, run.schedule);
}

}  // namespace dlscale
