#include "app/options/hardware_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/cli/number_sweep.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/text/quantity_text.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/what_if/stated_inputs.hpp"

namespace dlscale::app {
namespace {

constexpr BytesPerSecond least_bandwidth(1);

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::size_t from = 0;
  for (std::size_t comma = 0; comma != std::string::npos; from = comma + 1) {
    comma = list.find(',', from);
    items.push_back(list.substr(from, comma - from));
  }
  return items;
}

/// An option that was not given stays empty.
template <class Q>
std::vector<std::string> values(std::string_view option, const std::string& list) {
  if (list.empty()) return {""};
  return swept_quantities<Q>(option, split(list));
}

}  // namespace

void InterNodeOptions::declare(CLI::App& command) {
  command
      .add_option("--inter-node-bandwidth,--bandwidth", bandwidth,
                  "Bandwidth of the link between nodes, such as 10Gb/s")
      ->type_name("RATE");
  command
      .add_option("--inter-node-latency,--latency", latency, "Latency of this link, such as 50us")
      ->type_name("TIME");
}

std::vector<InterNodeOptions> InterNodeOptions::each() const {
  std::vector<InterNodeOptions> all;
  const auto latencies = values<Seconds>("--inter-node-latency", latency);
  for (const std::string& rate : values<BytesPerSecond>("--inter-node-bandwidth", bandwidth)) {
    for (const std::string& start : latencies) all.push_back({rate, start});
  }
  return all;
}

void InterNodeOptions::apply(Cluster& cluster) const {
  if (bandwidth.empty() && latency.empty()) return;
  if (bandwidth.empty()) {
    throw ConfigError(
        "--inter-node-latency needs --inter-node-bandwidth beside it: a link has both.");
  }
  LinkSpec& link = cluster.inter_node;
  link.name = "link between nodes, as stated";
  link.bandwidth = parse_quantity<BytesPerSecond>(bandwidth, "--inter-node-bandwidth");
  if (!latency.empty()) link.latency = parse_quantity<Seconds>(latency, "--inter-node-latency");
  if (link.bandwidth < least_bandwidth || link.latency < Seconds()) {
    throw ConfigError(
        "--inter-node-bandwidth must be 1 B/s or more and --inter-node-latency not below 0 (no "
        "link is like that). Write, for example, 10Gb/s and 50us.");
  }
  link.source = "stated on the command line, not measured";
  if (!cluster.nccl) return;
  if (!latency.empty() && cluster.all_reduce == AllReduceRule::nccl) {
    throw ConfigError(
        "--inter-node-latency has no part in NCCL's cost model, which has latencies of its own. "
        "Leave it out, or ask for --all-reduce ring or hierarchical.");
  }
  cluster.nccl->adapter_bandwidth = link.bandwidth / cluster.nccl->adapters;
}

void MessageTimesOption::declare(CLI::App& command) {
  CLI::Option* option =
      command
          .add_option("--message-times", file,
                      "All-reduces that you timed: the text of nccl-tests or osu_allreduce as it "
                      "is, or a CSV file")
          ->type_name("FILE");
  for (const char* other :
       {"--all-reduce", "--inter-node-bandwidth", "--inter-node-latency", "--sharp"}) {
    option->excludes(command.get_option(other));
  }
  log_ranks.declare(command);
  command.get_option("--log-ranks")->needs(option);
}

MessageLog MessageTimesOption::read(int devices_per_node) const {
  LogRanks unstated = log_ranks;
  MessageLog log = read_messages(file, unstated, devices_per_node);
  unstated.expect_used();
  return log;
}

void MessageTimesOption::apply(model::Machine& machine) const {
  if (!given()) return;
  const std::vector<ResultFile> logs{read(machine.cluster.devices_per_node).rows};
  timed_all_reduces(logs.front());
  const model::Machine measured = model::calibrate(machine.cluster, logs);
  machine = with_messages(std::move(machine), measured);
}

std::vector<std::string> MessageTimesOption::notes(const model::Machine& machine) const {
  if (!given()) return {};
  const MessageLog log = read(machine.cluster.devices_per_node);
  std::set<int> ranks;
  for (const TimedMessage& message : timed_all_reduces(log.rows)) ranks.insert(message.ranks);
  std::vector<std::string> said{
      fmt::format("messages: as timed in {}, of {} ranks", file, fmt::join(ranks, ", "))};
  said.insert(said.end(), log.notes.begin(), log.notes.end());
  return said;
}

namespace {

bool is_sheet_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml");
}

DeviceSheet find_sheet(const std::string& name) {
  return is_sheet_file(name) ? load_device_sheet(name) : DeviceCatalogue::load().at(name);
}

/// Throws ConfigError if a link is stated twice.
void refuse_both(const model::Machine& machine, const std::vector<model::StatedInput>& inputs) {
  if (!machine.inter_node_stated) return;
  for (const model::StatedInput& input : inputs) {
    if (!input.key.starts_with("inter_node.")) continue;
    throw ConfigError(fmt::format(
        "--set {} and --inter-node-bandwidth state the same link. Use one of them.", input.key));
  }
}

}  // namespace

void WhatIfOptions::declare(CLI::App& command) {
  command
      .add_option("--set", set,
                  fmt::format("Another figure of the hardware, such as "
                              "inter_node.bandwidth=200Gb/s; repeatable. Keys: {}",
                              fmt::join(model::stated_input_keys(), ", ")))
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--device", device,
                  "Another GPU by its data sheet: a name in configs/devices, such as h200")
      ->type_name("DEVICE");
  command
      .add_flag("--sharp", sharp,
                "Let the switches between nodes add gradients (SHARP of InfiniBand)")
      ->excludes(command.get_option("--all-reduce"));
}

std::vector<std::string> WhatIfOptions::apply(model::Machine& machine, DType dtype) const {
  std::vector<std::string> notes;
  std::vector<model::StatedInput> inputs;
  for (const std::string& text : set) inputs.push_back(model::parse_stated_input(text));
  refuse_both(machine, inputs);
  if (!device.empty()) {
    machine = model::with_device(std::move(machine), find_sheet(device), dtype, notes);
  }
  machine = model::with_stated_inputs(std::move(machine), inputs, notes);
  if (sharp) {
    machine.replaced_all_reduce = machine.all_reduce_override;
    machine.all_reduce_override = model::adding_switches;
    if (machine.level) machine.level->other_links = true;
    notes.emplace_back(
        "switches that add, between nodes: needs InfiniBand switches with SHARP (streaming, as of "
        "HDR) and a library that asks them to (NCCL's CollNet, HPC-X)");
  }
  return notes;
}

void WhatIfOptions::check(const Run& run) const {
  const bool adds_in_parts = run.synchronisation == Synchronisation::parameter_server ||
                             run.schedule == Schedule::reduce_scatter_overlap;
  if (!sharp || !adds_in_parts) return;
  throw ConfigError(
      "--sharp is about all-reduces, and this run adds its gradients in another way. Choose "
      "--synchronisation all_reduce and another --schedule than reduce_scatter_overlap.");
}

Cluster with_device(const Cluster& cluster, const std::string& device,
                    std::vector<std::string>& notes) {
  Cluster other = model::with_device(model::nominal_machine(cluster), find_sheet(device),
                                     DType::f32, notes)  // any: it counts for fitted machines alone
                      .cluster;
  if (is_sheet_file(device)) other.device.sheet = device;
  return other;
}

namespace {

constexpr std::string_view assumed_spread_word = "auto";
constexpr double assumed_spread = 0.015;

/// Reads "5%" or "5 %" as 0.05.
std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value / 100;
}

}  // namespace

void StragglerOptions::declare(CLI::App& command) {
  command
      .add_option("--straggler-spread", deviation,
                  "Add the wait for the slowest rank; the value is the standard deviation of "
                  "a rank's compute time over its mean, such as 5%; auto, or no value: an "
                  "assumption for GPUs, which a note states")
      ->expected(0, 1)
      ->default_str(std::string(assumed_spread_word))
      ->type_name("PERCENT");
}

void StragglerOptions::refuse_beside(const std::string& option) const {
  if (deviation.empty()) return;
  throw ConfigError(
      fmt::format("--straggler-spread has no effect beside {}, which tells of one rank. Leave out "
                  "one of the two.",
                  option));
}

model::RankSpread StragglerOptions::spread() const {
  model::RankSpread spread;
  if (deviation.empty()) return spread;
  const bool assumed = deviation == assumed_spread_word;
  const std::optional<double> value = assumed ? assumed_spread : parse_percent(deviation);
  if (!value || !(*value >= 0 && *value <= model::most_deviation)) {
    throw ConfigError(
        fmt::format("--straggler-spread: {} is not a standard deviation over the mean from 0 % to "
                    "{:g} %. Write, for example, 5%, or auto for an assumption.",
                    deviation, 100 * model::most_deviation));
  }
  spread.deviation = *value;
  return spread;
}

std::vector<std::string> StragglerOptions::notes() const {
  if (deviation != assumed_spread_word) return {};
  return {fmt::format(
      "stragglers: a spread of {:g} % is assumed, not measured: GPUs of one model in large systems "
      "differ by 8 % between the whiskers of a box plot, which are 5.4 standard deviations apart "
      "(P. Sinha et al., \"Not all GPUs are created equal\", SC 2022)",
      100 * assumed_spread)};
}

}  // namespace dlscale::app
