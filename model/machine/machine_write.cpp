#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/error.hpp"
#include "core/system/output_file.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/machine_links.hpp"

namespace dlscale::model {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Requires a finite number, because a result file never holds NaN or infinity.
double finite(double value) {
  EXPECT(std::isfinite(value));
  return value;
}

template <class Q>
OrderedJson to_json(const Estimate<Q>& e) {
  return {
      {"value", finite(e.value.si())}, {"low", finite(e.low.si())}, {"high", finite(e.high.si())}};
}

OrderedJson to_json(const Device& device) {
  OrderedJson peak = OrderedJson::object();
  for (const auto& [dtype, rate] : device.peak)
    peak[std::string(dtype_name(dtype))] = finite(rate.si());
  return {{"name", device.name},
          {"kind", device.kind == DeviceKind::cpu ? "cpu" : "gpu"},
          {"peak_flops_per_s", peak},
          {"memory_bandwidth_bytes_per_s", finite(device.memory_bandwidth.si())},
          {"memory_bytes", finite(device.memory.si())},
          {"launch_s", finite(device.launch.si())},
          {"source", device.source}};
}

OrderedJson to_json(const LinkSpec& link) {
  return {{"name", link.name},
          {"latency_s", finite(link.latency.si())},
          {"bandwidth_bytes_per_s", finite(link.bandwidth.si())},
          {"source", link.source}};
}

OrderedJson to_json(const NcclFacts& facts) {
  return {{"gpu", nccl_gpu_name(facts.gpu)},
          {"fabric", nccl_fabric_name(facts.fabric)},
          {"processor", nccl_processor_name(facts.processor)},
          {"gpu_bandwidth_bytes_per_s", finite(facts.gpu_bandwidth.si())},
          {"adapters", facts.adapters},
          {"adapter_bandwidth_bytes_per_s", finite(facts.adapter_bandwidth.si())},
          {"source", facts.source}};
}

/// Adds the descriptions of node and network, and the rule of all-reduces, to clusters that have
/// them.
OrderedJson with_details(OrderedJson json, const Cluster& cluster) {
  if (cluster.node) json["node"] = machine_file::node_json(*cluster.node);
  if (cluster.network) json["network"] = machine_file::network_json(*cluster.network);
  if (cluster.nccl) json["nccl"] = to_json(*cluster.nccl);
  if (cluster.nccl || cluster.all_reduce != AllReduceRule::quickest) {
    json["all_reduce"] = all_reduce_rule_name(cluster.all_reduce);
  }
  return json;
}

OrderedJson to_json(const Cluster& cluster) {
  const OrderedJson json{
      {"name", cluster.name},
      {"doc", cluster.doc},
      {"nodes", cluster.nodes},
      {"devices_per_node", cluster.devices_per_node},
      {"device", to_json(cluster.device)},
      {"host",
       {{"cores", cluster.host.cores},
        {"decode_s", finite(cluster.host.decode.si())},
        {"source", cluster.host.source}}},
      {"host_device", to_json(cluster.host_device)},
      {"intra_node", to_json(cluster.intra_node)},
      {"inter_node", to_json(cluster.inter_node)},
      {"storage",
       {{"read_bandwidth_bytes_per_s", finite(cluster.storage.read_bandwidth.si())},
        {"shared_by_nodes", cluster.storage.shared_by_nodes},
        {"source", cluster.storage.source}}}};
  return with_details(json, cluster);
}

/// Adds the host time, which exists only for asynchronous devices.
OrderedJson with_give(OrderedJson json, const std::optional<Estimate<Seconds>>& give) {
  if (give) json["give_s"] = to_json(*give);
  return json;
}

OrderedJson to_json(const KernelTime& kernel) {
  const OrderedJson json{{"kernel", kernel.kernel},
                         {"pass", pass_name(kernel.pass)},
                         {"dtype", dtype_name(kernel.dtype)},
                         {"batch", kernel.batch},
                         {"threads", kernel.threads},
                         {"ranks_on_node", kernel.ranks_on_node},
                         {"time_s", to_json(kernel.time)},
                         {"flops", finite(kernel.work.flops.si())},
                         {"bytes", finite(kernel.work.bytes.si())},
                         {"implementation", kernel.implementation},
                         {"source", kernel.source}};
  return with_give(json, kernel.give);
}

OrderedJson to_json(const Segment& segment) {
  OrderedJson json{{"from_bytes", finite(segment.from.si())},
                   {"to_bytes", finite(segment.to.si())},
                   {"alpha_s", to_json(segment.alpha)},
                   {"beta_s_per_byte", to_json(segment.beta)},
                   {"median_residual", finite(segment.median_residual)},
                   {"points", segment.points}};
  if (!segment.spread) return json;
  json["spread"] = {{"mean_bytes", finite(segment.spread->mean.si())},
                    {"at_mean_s", finite(segment.spread->at_mean.si())},
                    {"slope_s_per_byte", finite(segment.spread->slope.si())}};
  return json;
}

OrderedJson to_json(const Piecewise& cost) {
  OrderedJson segments = OrderedJson::array();
  for (const Segment& segment : cost.segments()) segments.push_back(to_json(segment));
  return segments;
}

OrderedJson to_json(const CollectiveFit& fit) {
  OrderedJson json{{"collective", fit.collective},       {"ranks", fit.ranks},
                   {"ranks_on_node", fit.ranks_on_node}, {"waiting", fit.waiting},
                   {"segments", to_json(fit.cost)},      {"source", fit.source}};
  if (fit.memory != "host") json["memory"] = fit.memory;  // as earlier versions wrote it
  return json;
}

OrderedJson to_json(const LinkFit& link) {
  return {{"alpha_s", to_json(link.alpha)}, {"beta_s_per_byte", to_json(link.beta)}};
}

OrderedJson to_json(const LinkSpread& spread) {
  OrderedJson rows = OrderedJson::array();
  for (const auto& values : spread) {
    OrderedJson row = OrderedJson::array();
    for (const double value : values) row.push_back(finite(value));
    rows.push_back(std::move(row));
  }
  return rows;
}

OrderedJson to_json(const LinkRange& range) {
  OrderedJson json{{"from_bytes", finite(range.from.si())},
                   {"to_bytes", finite(range.to.si())},
                   {"median_residual", finite(range.median_residual)},
                   {"points", range.points}};
  if (range.intra) json["intra_node"] = to_json(*range.intra);
  if (range.inter) json["inter_node"] = to_json(*range.inter);
  if (range.both_ways) json["both_ways_s_per_byte"] = to_json(*range.both_ways);
  if (range.spread) json["spread_si"] = to_json(*range.spread);
  return json;
}

OrderedJson to_json(const FormRatios& ratios) {
  OrderedJson at = OrderedJson::array();
  for (const FormRatio& one : ratios.at) {
    at.push_back({{"bytes", finite(one.size.si())}, {"log_ratio", finite(one.log_ratio)}});
  }
  return {{"at", std::move(at)}, {"deviation", finite(ratios.deviation)}};
}

OrderedJson to_json(const LayoutFit& fit) {
  OrderedJson json{{"ranks", fit.layout.ranks},
                   {"ranks_on_node", fit.layout.ranks_on_node()},
                   {"segments", to_json(fit.cost)},
                   {"straight_line", to_json(Piecewise({fit.line}))}};
  if (!fit.ratios.at.empty()) json["beside_closed_form"] = to_json(fit.ratios);
  return json;
}

OrderedJson to_json(const Foresight& foresight) {
  return {{"ranks", foresight.ranks},
          {"from_ranks", foresight.from},
          {"median_abs", finite(foresight.median)},
          {"deviation", finite(foresight.deviation)}};
}

OrderedJson to_json(const AlgorithmFit& fit) {
  OrderedJson ranges = OrderedJson::array();
  for (const LinkRange& range : fit.ranges) ranges.push_back(to_json(range));
  OrderedJson layouts = OrderedJson::array();
  for (const LayoutFit& layout : fit.layouts) layouts.push_back(to_json(layout));
  OrderedJson json{{"collective", fit.carrier.collective},
                   {"asked", fit.asked},
                   {"library", fit.library},
                   {"waiting", fit.waiting},
                   {"algorithm", fit.carrier.algorithm},
                   {"chosen_by", to_string(fit.carrier.chosen_by)},
                   {"pipeline_segments", fit.carrier.segments},
                   {"gamma_s_per_byte", finite(fit.gamma.si())},
                   {"ranges_of", to_string(fit.range_of)},
                   {"ranges", std::move(ranges)},
                   {"layouts", std::move(layouts)},
                   {"source", fit.source}};
  if (fit.carrier.cores > 0) json["shared_cores"] = fit.carrier.cores;
  if (fit.carrier.two_way) json["two_way"] = true;
  if (fit.foresight) json["foresight"] = to_json(*fit.foresight);
  return json;
}

OrderedJson to_json(const Estimate<double>& slowdown) {
  return {{"value", finite(slowdown.value)},
          {"low", finite(slowdown.low)},
          {"high", finite(slowdown.high)}};
}

OrderedJson to_json(const ContentionRange& range) {
  return {{"from_bytes", finite(range.from.si())},
          {"to_bytes", finite(range.to.si())},
          {"compute_slowdown", to_json(range.compute)},
          {"messages_slowdown", to_json(range.messages)},
          {"points", range.points}};
}

OrderedJson to_json(const ContentionFit& fit) {
  OrderedJson ranges = OrderedJson::array();
  for (const ContentionRange& range : fit.ranges) ranges.push_back(to_json(range));
  return {{"collective", fit.collective},
          {"ranks", fit.ranks},
          {"ranks_on_node", fit.ranks_on_node},
          {"waiting", fit.waiting},
          {"beside", work_kind_name(fit.work)},
          {"threads", fit.threads},
          {"cores_per_rank", fit.cores_per_rank},
          {"ranges", std::move(ranges)},
          {"source", fit.source}};
}

OrderedJson to_json(const AffineFit& fit) {
  const OrderedJson json{{"ranks_on_node", fit.ranks_on_node},
                         {"threads", fit.threads},
                         {"dtype", dtype_name(fit.dtype)},
                         {"segments", to_json(fit.cost)},
                         {"source", fit.source}};
  return with_give(json, fit.give);
}

OrderedJson to_json(const GraphLaunch& launch) {
  return {{"host_start_s", to_json(launch.host_start)},
          {"host_s_per_kernel", to_json(launch.host_per_kernel)},
          {"device_start_s", to_json(launch.device_start)},
          {"source", launch.source}};
}

OrderedJson to_json(const LoaderFit& fit) {
  return {{"ranks_on_node", fit.ranks_on_node},
          {"height", fit.height},
          {"width", fit.width},
          {"read_s", to_json(fit.read)},
          {"decode_s", to_json(fit.decode)},
          {"augment_s", to_json(fit.augment)},
          {"source", fit.source}};
}

OrderedJson to_json(const MeasuredOn& measured_on) {
  OrderedJson json{{"cpu", measured_on.cpu},
                   {"host_hash", measured_on.host_hash},
                   {"backend", measured_on.backend},
                   {"libraries", measured_on.libraries}};
  if (!measured_on.links.empty()) json["links"] = measured_on.links;
  return json;
}

template <class T>
OrderedJson list(const std::vector<T>& values) {
  OrderedJson result = OrderedJson::array();
  for (const T& value : values) result.push_back(to_json(value));
  return result;
}

}  // namespace

namespace {

/// Adds the optional measurements: cost of addition, contention of messages and computing, graph
/// launch.
OrderedJson with_optional(OrderedJson json, const Machine& machine) {
  if (machine.reduction) {
    json["reduction"] = {{"gamma_s_per_byte", to_json(machine.reduction->per_byte)},
                         {"from", machine.reduction->from}};
  }
  if (!machine.contention.empty()) json["contention"] = list(machine.contention);
  if (machine.graph_launch) json["graph_launch"] = to_json(*machine.graph_launch);
  return json;
}

}  // namespace

std::string machine_json(const Machine& machine) {
  OrderedJson bandwidth = OrderedJson::object();
  for (const auto& [kernel, rate] : machine.memory_bandwidth) bandwidth[kernel] = to_json(rate);
  const OrderedJson json{{"schema", "dlscale.machine"},
                         {"version", 1},
                         {"fitted", machine.fitted},
                         {"cluster", to_json(machine.cluster)},
                         {"kernels", list(machine.kernels)},
                         {"collectives", list(machine.collectives)},
                         {"algorithms", list(machine.algorithms)},
                         {"h2d", list(machine.h2d)},
                         {"update", list(machine.update)},
                         {"loaders", list(machine.loaders)},
                         {"memory_bandwidth_bytes_per_s", bandwidth},
                         {"sources", machine.sources},
                         {"measured_on", to_json(machine.measured_on)}};
  return with_optional(json, machine).dump(2, ' ', false, OrderedJson::error_handler_t::replace);
}

void save_machine(const std::filesystem::path& path, const Machine& machine) {
  if (const int error = write_whole(path, machine_json(machine) + '\n'); error != 0) {
    throw ConfigError(fmt::format("cannot write {}: {}. Choose another place with -o.",
                                  path.string(), std::strerror(error)));
  }
}

}  // namespace dlscale::model
