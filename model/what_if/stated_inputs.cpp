#include "model/what_if/stated_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/cluster/input_rate.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/suggest.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/what_if/scaled_machine.hpp"

namespace dlscale::model {
namespace {

constexpr std::string_view peak_key = "device.peak.";
constexpr std::string_view stated_source = "stated on the command line, not measured";

/// A figure of a cluster that can be stated.
struct Key {
  std::string name;
  std::optional<Hardware> what;  ///< absent for cores, which scale nothing
  std::optional<DType> dtype = std::nullopt;
};

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (const Hardware what : all_hardware) {
    if (what == Hardware::peak) {
      for (const DType dtype : all_dtypes) {
        keys.push_back({fmt::format("{}{}", peak_key, dtype_name(dtype)), what, dtype});
      }
    } else {
      keys.push_back({std::string(hardware_name(what)), what});
    }
  }
  keys.push_back({"host.cores", std::nullopt});
  return keys;
}

/// Whether a lower value is faster.
bool is_time(Hardware what) {
  return what == Hardware::launch || what == Hardware::decode ||
         what == Hardware::host_device_latency || what == Hardware::intra_node_latency ||
         what == Hardware::inter_node_latency;
}

bool is_between_nodes(Hardware what) {
  return what == Hardware::inter_node_bandwidth || what == Hardware::inter_node_latency;
}

/// The link of a figure; nullptr for others.
LinkSpec* link_of(Cluster& cluster, Hardware what) {
  switch (what) {
    case Hardware::host_device_bandwidth:
    case Hardware::host_device_latency:
      return &cluster.host_device;
    case Hardware::intra_node_bandwidth:
    case Hardware::intra_node_latency:
      return &cluster.intra_node;
    case Hardware::inter_node_bandwidth:
    case Hardware::inter_node_latency:
      return &cluster.inter_node;
    case Hardware::peak:
    case Hardware::memory_bandwidth:
    case Hardware::launch:
    case Hardware::decode:
    case Hardware::storage_bandwidth:
      return nullptr;
  }
  fail_expectation("what is a Hardware");
}

/// The present value in SI; 0: unknown.
double now(Cluster& cluster, const Key& key) {
  const Hardware what = *key.what;
  if (const LinkSpec* link = link_of(cluster, what)) {
    return is_time(what) ? link->latency.si() : link->bandwidth.si();
  }
  if (what == Hardware::peak) {
    const auto peak = cluster.device.peak.find(*key.dtype);
    return peak == cluster.device.peak.end() ? 0 : peak->second.si();
  }
  if (what == Hardware::memory_bandwidth) return cluster.device.memory_bandwidth.si();
  if (what == Hardware::launch) return cluster.device.launch.si();
  if (what == Hardware::decode) return cluster.host.decode.si();
  return cluster.storage.read_bandwidth.si();
}

void state(Cluster& cluster, const Key& key, double si) {
  const Hardware what = *key.what;
  if (LinkSpec* link = link_of(cluster, what)) {
    if (is_time(what)) {
      link->latency = Seconds(si);
    } else {
      link->bandwidth = BytesPerSecond(si);
    }
    link->source = stated_source;
  } else if (what == Hardware::peak) {
    cluster.device.peak[*key.dtype] = FlopsPerSecond(si);
  } else if (what == Hardware::memory_bandwidth) {
    cluster.device.memory_bandwidth = BytesPerSecond(si);
  } else if (what == Hardware::launch) {
    cluster.device.launch = Seconds(si);
  } else if (what == Hardware::decode) {
    cluster.host.decode = Seconds(si);
    cluster.host.source = stated_source;
  } else {
    cluster.storage.read_bandwidth = BytesPerSecond(si);
  }
}

/// The value in SI: a rate ≥ 1 per second, or a time ≥ 0.
double parse_value(const Key& key, const StatedInput& input) {
  const std::string where = fmt::format("the stated {}", input.key);
  const Hardware what = *key.what;
  double value = 0;
  if (is_time(what)) {
    value = parse_quantity<Seconds>(input.value, where).si();
  } else if (what == Hardware::peak) {
    value = parse_quantity<FlopsPerSecond>(input.value, where).si();
  } else if (const auto samples = what == Hardware::storage_bandwidth
                                      ? parse_input_rate(input.value, where)
                                      : std::nullopt) {
    value = samples->si();
  } else {
    value = parse_quantity<BytesPerSecond>(input.value, where).si();
  }
  constexpr double most = 1e30;
  const double least = is_time(what) ? 0 : 1;
  if (value >= least && value <= most) return value;
  throw ConfigError(
      fmt::format("{} is {}, which no hardware has. Write {}.", where, input.value,
                  is_time(what) ? "a time of 0 or more, such as 5 us" : "a larger rate"));
}

int parse_cores(const StatedInput& input) {
  int cores = 0;
  const char* end = input.value.data() + input.value.size();
  const auto [rest, error] = std::from_chars(input.value.data(), end, cores);
  if (error == std::errc() && rest == end && cores >= 1) return cores;
  throw ConfigError(
      fmt::format("the stated {} is {}, which is not a whole number of cores from 1 to {}; "
                  "expected, for example, "
                  "16.",
                  input.key, input.value, std::numeric_limits<int>::max()));
}

std::string text_of(const Key& key, double si) {
  const Hardware what = *key.what;
  if (is_time(what)) return to_text(Seconds(si));
  return what == Hardware::peak ? to_text(FlopsPerSecond(si)) : to_text(BytesPerSecond(si));
}

/// Passes a changed bandwidth to NCCL's model, which has latencies of its own.
void tell_nccl(Cluster& cluster, const Key& key, double before, double after) {
  if (!cluster.nccl) return;
  const Hardware what = *key.what;
  const bool latency = what == Hardware::intra_node_latency || what == Hardware::inter_node_latency;
  if (latency && cluster.all_reduce == AllReduceRule::nccl) {
    throw ConfigError(
        fmt::format("the stated {} has no part in NCCL's cost model, which has latencies of its "
                    "own. Leave it out, or ask for an all-reduce by ring or hierarchical.",
                    key.name));
  }
  if (what == Hardware::inter_node_bandwidth) {
    cluster.nccl->adapter_bandwidth = BytesPerSecond(after) / cluster.nccl->adapters;
  }
  if (what == Hardware::intra_node_bandwidth && before > 0) {
    cluster.nccl->gpu_bandwidth = after / before * cluster.nccl->gpu_bandwidth;
  }
}

/// The machine of a changed cluster, with what was chosen for `machine`.
Machine with_sheets_of(const Cluster& cluster, const Machine& machine) {
  Machine other = nominal_machine(cluster);
  other.inter_node_stated = machine.inter_node_stated;
  other.all_reduce_override = machine.all_reduce_override;
  other.replaced_all_reduce = machine.replaced_all_reduce;
  other.exchange_traits = machine.exchange_traits;
  other.software = machine.software;
  other.level = machine.level;
  return other;
}

/// Marks what the measured points do not hold for.
void mark_other(Hardware what, MeasuredLevel& level) {
  level.other_device |=
      what == Hardware::peak || what == Hardware::memory_bandwidth || what == Hardware::launch;
  level.other_links |= what == Hardware::intra_node_bandwidth ||
                       what == Hardware::intra_node_latency || is_between_nodes(what);
}

Machine on_data_sheet(const Machine& machine, const Key& key, double value) {
  Cluster cluster = machine.cluster;
  const double before = now(cluster, key);
  state(cluster, key, value);
  tell_nccl(cluster, key, before, value);
  Machine stated = with_sheets_of(cluster, machine);
  stated.inter_node_stated |= is_between_nodes(*key.what);
  if (stated.level && value != before) mark_other(*key.what, *stated.level);
  return stated;
}

Machine on_other_link(Machine machine, const Key& key, double value) {
  state(machine.cluster, key, value);
  tell_nccl(machine.cluster, key, 0, value);
  machine.inter_node_stated = true;
  return machine;
}

/// The stated time with the relative uncertainty of the measurement.
Estimate<Seconds> as_sure_as(const Estimate<Seconds>& measured, Seconds stated) {
  if (measured.value <= Seconds()) return Estimate<Seconds>::exact(stated);
  return (stated / measured.value) * measured;
}

Machine loading(Machine machine, const Key& key, double value) {
  state(machine.cluster, key, value);
  for (LoaderFit& loader : machine.loaders) {
    loader.decode = as_sure_as(loader.decode, Seconds(value));
    loader.augment = {};
  }
  return machine;
}

Machine scaled(Machine machine, const Key& key, double value) {
  const double before = now(machine.cluster, key);
  if (before <= 0) {
    throw ConfigError(fmt::format(
        "the stated {} changes nothing: machine {} was fitted to measurements, and its cluster "
        "states no such figure that they could be scaled from. Calibrate with a cluster that "
        "states it, or predict from the data sheets of a cluster.",
        key.name, machine.cluster.name));
  }
  const double factor = is_time(*key.what) ? before / value : value / before;
  machine = scaled_machine(std::move(machine), *key.what, factor, key.dtype);
  state(machine.cluster, key, value);
  return machine;
}

/// Changes a fitted machine, where a fit may override the cluster's figure.
Machine on_fitted(Machine machine, const Key& key, double value) {
  const Hardware what = *key.what;
  if (is_between_nodes(what)) return on_other_link(std::move(machine), key, value);
  if (what == Hardware::decode) return loading(std::move(machine), key, value);
  if (what == Hardware::storage_bandwidth) {
    if (!machine.cluster.storage.shared_by_nodes) {
      throw ConfigError(fmt::format(
          "the stated {} changes nothing: the loading that machine {} was fitted to includes the "
          "storage of its node. Leave it out, or predict from the data sheets of a cluster.",
          key.name, machine.cluster.name));
    }
    state(machine.cluster, key, value);
    return machine;
  }
  return scaled(std::move(machine), key, value);
}

const Key& find_key(const std::vector<Key>& keys, const StatedInput& input) {
  std::vector<std::string> names;
  for (const Key& key : keys) {
    if (key.name == input.key) return key;
    names.push_back(key.name);
  }
  throw ConfigError(fmt::format("{}={} is stated, but nothing of a machine is called \"{}\". {}",
                                input.key, input.value, input.key, suggestion(input.key, names)));
}

void check_link(const Machine& machine) {
  const LinkSpec& link = machine.cluster.inter_node;
  if (!machine.inter_node_stated || link.bandwidth.si() > 0) return;
  throw ConfigError(
      fmt::format("a stated inter_node.latency needs inter_node.bandwidth beside it: a link "
                  "has both, and {} states no bandwidth between nodes.",
                  machine.cluster.name));
}

bool states(const Device& device, DType dtype) {
  return device.peak.contains(dtype) && device.memory_bandwidth.si() > 0;
}

Roofline roofline_of(const Device& device, DType dtype) {
  return {device.peak.at(dtype), device.memory_bandwidth};
}

/// Scales a kernel by T' / T, with an interval between the ratios of the two ceilings.
void scale(KernelTime& kernel, const Device& from, const Device& to) {
  const Roofline before = roofline_of(from, kernel.dtype);
  const Roofline after = roofline_of(to, kernel.dtype);
  const double by_peak = before.peak / after.peak;
  const double by_memory = before.bandwidth / after.bandwidth;
  const bool declares = kernel.work.bytes.si() > 0 || kernel.work.flops.si() > 0;
  const double ratio =
      declares ? after.time(kernel.work) / before.time(kernel.work) : std::max(by_peak, by_memory);
  Estimate<Seconds>& time = kernel.time;
  time.value = ratio * time.value;
  time.low = std::min(by_peak, by_memory) * time.low;
  time.high = std::max(by_peak, by_memory) * time.high;
}

void scale(AffineFit& update, double factor) {
  if (update.cost.segments().empty()) return;
  std::vector<Segment> segments = update.cost.segments();
  for (Segment& segment : segments) {
    segment.beta = factor * segment.beta;
    if (segment.spread) segment.spread->slope = factor * segment.spread->slope;
  }
  update.cost = Piecewise(std::move(segments));
}

void refuse_unknown(const Machine& machine, const Device& to, DType dtype) {
  const Cluster& cluster = machine.cluster;
  if (cluster.device.kind == DeviceKind::cpu) {
    throw ConfigError(
        fmt::format("device {} takes the place of a GPU, and {} computes on its processor ({}). "
                    "Give a cluster of GPUs.",
                    to.name, cluster.name, cluster.device.name));
  }
  if (!machine.fitted) return;
  if (!states(to, dtype)) {
    throw ConfigError(fmt::format(
        "device {}: its data sheet gives no peak in {}. Ask for another precision, or for another "
        "device.",
        to.name, dtype_name(dtype)));
  }
  if (states(cluster.device, dtype)) return;
  throw ConfigError(fmt::format(
      "device {}: machine {} was fitted to measurements of {}, and its cluster states no peak in "
      "{} and memory bandwidth of it to scale them by. Calibrate with a cluster that states "
      "them, or predict from the data sheets of a cluster.",
      to.name, cluster.name, cluster.device.name, dtype_name(dtype)));
}

std::string links_stay(const Cluster& cluster) {
  return cluster.nccl && cluster.all_reduce == AllReduceRule::nccl
             ? "hosts and links, and the generation in NCCL's cost model, are those of before"
             : "hosts and links are those of before";
}

}  // namespace

StatedInput parse_stated_input(std::string_view text) {
  const auto trimmed = [](std::string_view part) {
    const auto first = part.find_first_not_of(" \t");
    if (first == std::string_view::npos) return std::string();
    return std::string(part.substr(first, part.find_last_not_of(" \t") - first + 1));
  };
  const auto equals = text.find('=');
  if (equals != std::string_view::npos) {
    StatedInput input{trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
    if (!input.key.empty() && !input.value.empty()) return input;
  }
  throw ConfigError(
      fmt::format("{} is not a figure and its value; expected, for example, "
                  "inter_node.bandwidth=200Gb/s.",
                  text));
}

std::vector<std::string> stated_input_keys() {
  std::vector<std::string> names;
  for (const Key& key : all_keys()) names.push_back(key.name);
  return names;
}

Machine with_stated_inputs(Machine machine, std::span<const StatedInput> inputs,
                           std::vector<std::string>& notes) {
  const std::vector<Key> keys = all_keys();
  std::set<std::string> met;
  for (const StatedInput& input : inputs) {
    const Key& key = find_key(keys, input);
    if (!met.insert(key.name).second) {
      throw ConfigError(fmt::format("{} is stated twice. State it once.", key.name));
    }
    if (!key.what) {
      machine.cluster.host.cores = parse_cores(input);
      notes.push_back(fmt::format("stated, not measured: {} {}", key.name, input.value));
      continue;
    }
    const double value = parse_value(key, input);
    const double before = now(machine.cluster, key);
    const std::string was =
        before > 0 ? fmt::format(" in place of {}", text_of(key, before)) : std::string();
    machine = machine.fitted ? on_fitted(std::move(machine), key, value)
                             : on_data_sheet(machine, key, value);
    notes.push_back(
        fmt::format("stated, not measured: {} {}{}", key.name, text_of(key, value), was));
  }
  check_link(machine);
  return machine;
}

Machine with_device(Machine machine, const DeviceSheet& sheet, DType dtype,
                    std::vector<std::string>& notes) {
  const Device from = machine.cluster.device;
  Device to = nominal_device(sheet, Seconds(1));
  to.launch = from.launch;  // on no data sheet, and 0 where kernels were measured
  refuse_unknown(machine, to, dtype);
  notes.push_back(fmt::format("{} in place of {}, by data sheet: {}", to.name, from.name,
                              links_stay(machine.cluster)));
  machine.cluster.device = to;
  if (!machine.fitted) {
    Machine other = with_sheets_of(machine.cluster, machine);
    if (other.level) other.level->other_device = true;
    return other;
  }
  std::erase_if(machine.kernels, [&](const KernelTime& kernel) {
    return !states(from, kernel.dtype) || !states(to, kernel.dtype);
  });
  for (KernelTime& kernel : machine.kernels) scale(kernel, from, to);
  const double by_memory = from.memory_bandwidth / to.memory_bandwidth;
  for (AffineFit& update : machine.update) scale(update, by_memory);
  for (auto& [kernel, bandwidth] : machine.memory_bandwidth) {
    bandwidth = (1 / by_memory) * bandwidth;
  }
  notes.push_back(
      fmt::format("kernels and updates measured on {} and scaled by the ratio of the ceilings of "
                  "both data sheets, whichever of them holds a kernel back: nothing was measured "
                  "on {}",
                  from.name, to.name));
  return machine;
}

}  // namespace dlscale::model
