#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/node_links_file.hpp"
#include "core/system/file_kind.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/text/json_problem.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/machine_fields.hpp"
#include "model/machine/unit_fields.hpp"

namespace dlscale::model::machine_file {
namespace {

std::string_view kind_name(DeviceKind kind) {
  return kind == DeviceKind::cpu ? "cpu" : "gpu";
}

DeviceKind parse_kind(std::string_view word) {
  if (word != "cpu" && word != "gpu") throw ConfigError("neither \"cpu\" nor \"gpu\"");
  return word == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
}

Pass parse_pass(std::string_view name) {
  for (const Pass pass :
       {Pass::forward, Pass::backward_data, Pass::backward_filter, Pass::accumulate}) {
    if (name == pass_name(pass)) return pass;
  }
  throw ConfigError(fmt::format("\"{}\" is not a pass", name));
}

/// χ, the last, is missing in files of earlier versions.
void read_spread(const Value& value, LinkSpread& spread) {
  spread = {};
  const std::vector<Value> rows = value.elements();
  const bool earlier = rows.size() + 1 == spread.size();
  if (rows.size() != spread.size() && !earlier) value.fail("has neither 4 nor 5 rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<Value> row = rows[i].elements();
    if (row.size() != rows.size()) rows[i].fail("has more or fewer numbers than there are rows");
    for (std::size_t j = 0; j < row.size(); ++j) spread[i][j] = row[j].signed_number();
  }
}

/// Rejects descriptions of a node that check() rejects.
void check_node(Cluster& cluster, const Value& value) {
  if (!cluster.node) return;
  try {
    check(*cluster.node, cluster.network ? &*cluster.network : nullptr, cluster.devices_per_node,
          "node");
  } catch (const ConfigError& error) {
    value.fail(fmt::format("is wrong: {}", error.what()));
  }
  Nvlinks* nvlinks = cluster.node->nvlinks ? &*cluster.node->nvlinks : nullptr;
  if (nvlinks != nullptr) count_rings(*nvlinks, cluster.devices_per_node);
}

}  // namespace

// Members that files of earlier versions lack are optional, and written where they say something.

template <class T, class Structure>
concept Of = std::same_as<std::remove_const_t<T>, Structure>;

template <class File>
void describe(File& file, Of<Device> auto& device) {
  file.text("name", device.name);
  file.word("kind", device.kind, kind_name, parse_kind);
  if constexpr (File::reads) {
    for (const auto& [dtype, rate] : file.take("peak_flops_per_s").members()) {
      const double peak = rate.rate();
      if (peak == 0) rate.fail("is 0, which no device has");
      device.peak[parse_dtype(dtype)] = FlopsPerSecond(peak);
    }
  } else {
    Writer peaks;
    for (const auto& [dtype, rate] : device.peak)
      peaks.rate(std::string(dtype_name(dtype)).c_str(), rate);
    file.json["peak_flops_per_s"] = peaks.json;
  }
  file.rate("memory_bandwidth_bytes_per_s", device.memory_bandwidth);
  file.number("memory_bytes", device.memory);
  file.number("launch_s", device.launch);
  file.text("source", device.source);
  if (file.has("sheet", !device.sheet.empty())) file.text("sheet", device.sheet);
  file.optional("units", device.units);
  if (file.has("launched", device.launched > 0)) file.integer("launched", device.launched, 1);
}

void describe(auto& file, Of<LinkSpec> auto& link) {
  file.text("name", link.name);
  file.number("latency_s", link.latency);
  file.rate("bandwidth_bytes_per_s", link.bandwidth);
  file.text("source", link.source);
}

void describe(auto& file, Of<Host> auto& host) {
  file.integer("cores", host.cores, 1);
  file.number("decode_s", host.decode);
  file.text("source", host.source);
}

void describe(auto& file, Of<Storage> auto& storage) {
  file.rate("read_bandwidth_bytes_per_s", storage.read_bandwidth);
  file.boolean("shared_by_nodes", storage.shared_by_nodes);
  file.text("source", storage.source);
}

void describe(auto& file, Of<NcclFacts> auto& facts) {
  file.word("gpu", facts.gpu, nccl_gpu_name, parse_nccl_gpu);
  file.word("fabric", facts.fabric, nccl_fabric_name, parse_nccl_fabric);
  file.word("processor", facts.processor, nccl_processor_name, parse_nccl_processor);
  file.rate("gpu_bandwidth_bytes_per_s", facts.gpu_bandwidth);
  file.integer("adapters", facts.adapters, 1);
  file.rate("adapter_bandwidth_bytes_per_s", facts.adapter_bandwidth);
  file.text("source", facts.source);
}

template <class File>
void describe(File& file, Of<TreePlace> auto& place) {
  file.text("name", place.name);
  int under = place.under + 1;  // 0: a socket
  file.integer("under", under, 0);
  if constexpr (File::reads) place.under = under - 1;
  file.rate("up_bytes_per_s", place.up);
  file.list("devices", place.devices);
  file.list("adapters", place.adapters);
}

template <class File>
void describe(File& file, Of<Nvlinks> auto& nvlinks) {
  file.integer("generation", nvlinks.generation, 1);
  file.require(nvlinks.generation <= 5, "generation", "is not known");
  file.text("board", nvlinks.board);
  file.integer("switch_links", nvlinks.switch_links, 0);
  if constexpr (File::reads) {
    for (const Value& pair : file.take("pairs").elements()) {
      const std::vector<Value> numbers = pair.elements();
      if (numbers.size() != 3) pair.fail("is not two devices and their number of links");
      nvlinks.pairs.push_back(
          {numbers[0].integer(0), numbers[1].integer(0), numbers[2].integer(0)});
    }
  } else {
    file.json["pairs"] = nlohmann::ordered_json::array();
    for (const NvlinkPair& pair : nvlinks.pairs) {
      file.json["pairs"].push_back({pair.a, pair.b, pair.links});
    }
  }
}

void describe(auto& file, Of<NodeLinks> auto& node) {
  file.rate("bandwidth_bytes_per_s", node.tree.bandwidth);
  file.number("latency_s", node.tree.latency);
  file.rate("between_sockets_bytes_per_s", node.tree.between_sockets);
  file.list("places", node.tree.places);
  file.optional("nvlinks", node.nvlinks);
  file.text("source", node.source);
}

/// A number in (0, 1].
void describe_share(auto& file, const char* key, Of<double> auto& share) {
  constexpr double least = 1e-6;  // below it, times of messages overflow
  file.number(key, share);
  file.require(share >= least && share <= 1, key, "is out of [0.000001, 1]");
}

void describe(auto& file, Of<NetworkLinks> auto& network) {
  file.text("kind", network.kind);
  file.integer("adapters", network.adapters, 1);
  file.require(network.adapters <= 64, "adapters", "is more than 64 adapters a node");
  describe_share(file, "efficiency", network.efficiency);
  file.text("efficiency_of", network.efficiency_of);
  file.word("fabric", network.fabric, fabric_name, parse_fabric);
  file.integer("group", network.group, network.fabric == Fabric::one_switch ? 0 : 1);
  describe_share(file, "share", network.share);
  file.text("source", network.source);
}

template <class File>
void describe(File& file, Of<Cluster> auto& cluster) {
  file.text("name", cluster.name);
  file.text("doc", cluster.doc);
  file.integer("nodes", cluster.nodes, 1);
  file.integer("devices_per_node", cluster.devices_per_node, 1);
  file.object("device", cluster.device);
  file.object("host", cluster.host);
  file.object("host_device", cluster.host_device);
  file.object("intra_node", cluster.intra_node);
  file.object("inter_node", cluster.inter_node);
  file.object("storage", cluster.storage);
  file.optional("node", cluster.node);
  file.optional("network", cluster.network);
  if constexpr (File::reads) check_node(cluster, file.at("node"));
  file.optional("nccl", cluster.nccl);
  const bool has_rule = cluster.nccl || cluster.all_reduce != AllReduceRule::quickest;
  if (file.has("all_reduce", has_rule)) {
    file.word("all_reduce", cluster.all_reduce, all_reduce_rule_name, parse_all_reduce_rule);
  }
  file.require(cluster.all_reduce != AllReduceRule::nccl || cluster.nccl, "all_reduce",
               "is nccl, but there are no facts under nccl");
}

void describe(auto& file, Of<LineSpread> auto& spread) {
  file.number("mean_bytes", spread.mean);
  file.number("at_mean_s", spread.at_mean);
  file.number("slope_s_per_byte", spread.slope);
}

void describe(auto& file, Of<Segment> auto& segment) {
  file.number("from_bytes", segment.from);
  file.number("to_bytes", segment.to);
  file.object("alpha_s", segment.alpha);
  file.object("beta_s_per_byte", segment.beta);
  file.number("median_residual", segment.median_residual);
  file.integer("points", segment.points, 0);
  file.optional("spread", segment.spread);
}

template <class File>
void describe_cost(File& file, const char* key, Of<Piecewise> auto& cost) {
  if constexpr (File::reads) {
    const Value value = file.take(key);
    std::vector<Segment> segments;
    for (const Value& element : value.elements()) segments.push_back(read<Segment>(element));
    try {
      cost = Piecewise(std::move(segments));
    } catch (const ConfigError& error) {
      value.fail(fmt::format("is not a cost by size: {}", error.what()));
    }
  } else {
    file.list(key, cost.segments());
  }
}

void describe(auto& file, Of<KernelTime> auto& kernel) {
  file.text("kernel", kernel.kernel);
  file.word("pass", kernel.pass, pass_name, parse_pass);
  file.word("dtype", kernel.dtype, dtype_name, parse_dtype);
  file.integer("batch", kernel.batch, 1);
  file.integer("threads", kernel.threads, 1);
  file.integer("ranks_on_node", kernel.ranks_on_node, 1);
  file.object("time_s", kernel.time);
  file.number("flops", kernel.work.flops);
  file.number("bytes", kernel.work.bytes);
  file.text("implementation", kernel.implementation);
  file.text("source", kernel.source);
  file.optional("give_s", kernel.give);
}

void describe(auto& file, Of<CollectiveFit> auto& fit) {
  file.text("collective", fit.collective);
  file.integer("ranks", fit.ranks, 2);
  file.integer("ranks_on_node", fit.ranks_on_node, 1);
  file.text("waiting", fit.waiting);
  describe_cost(file, "segments", fit.cost);
  file.text("source", fit.source);
  if (file.has("memory", fit.memory != "host")) file.text("memory", fit.memory);
  file.require(fit.memory == "host" || fit.memory == "device", "memory",
               "is neither host nor device");
}

void describe(auto& file, Of<LinkFit> auto& link) {
  file.object("alpha_s", link.alpha);
  file.object("beta_s_per_byte", link.beta);
}

template <class File>
void describe(File& file, Of<LinkRange> auto& range) {
  file.number("from_bytes", range.from);
  file.number("to_bytes", range.to);
  file.require(!(range.from > range.to), "to_bytes", "ends before it begins");
  file.number("median_residual", range.median_residual);
  file.integer("points", range.points, 1);
  file.optional("intra_node", range.intra);
  file.optional("inter_node", range.inter);
  file.optional("both_ways_s_per_byte", range.both_ways);
  if (!file.has("spread_si", range.spread.has_value())) return;
  if constexpr (File::reads) {
    read_spread(file.take("spread_si"), range.spread.emplace());
  } else {
    for (const auto& row : *range.spread) {
      for (const double value : row) EXPECT(std::isfinite(value));
    }
    file.json["spread_si"] = *range.spread;
  }
}

void describe(auto& file, Of<FormRatio> auto& ratio) {
  file.number("bytes", ratio.size);
  file.signed_number("log_ratio", ratio.log_ratio);
}

void describe(auto& file, Of<FormRatios> auto& ratios) {
  file.list("at", ratios.at);
  file.number("deviation", ratios.deviation);
}

template <class File>
void describe(File& file, Of<LayoutFit> auto& fit) {
  int on_node = fit.layout.ranks_on_node();
  file.integer("ranks", fit.layout.ranks, 2);
  file.integer("ranks_on_node", on_node, 1);
  describe_cost(file, "segments", fit.cost);
  Piecewise line = File::reads ? Piecewise() : Piecewise({fit.line});
  describe_cost(file, "straight_line", line);
  if constexpr (File::reads) {
    fit.layout.ranks_per_node = on_node;
    fit.line = line.segments().front();
  }
  if (file.has("beside_closed_form", !fit.ratios.at.empty())) {
    file.object("beside_closed_form", fit.ratios);
  }
}

void describe(auto& file, Of<Foresight> auto& foresight) {
  file.integer("ranks", foresight.ranks, 2);
  file.integer("from_ranks", foresight.from, 2);
  file.number("median_abs", foresight.median);
  file.number("deviation", foresight.deviation);
}

void describe(auto& file, Of<AlgorithmFit> auto& fit) {
  file.text("collective", fit.carrier.collective);
  file.text("asked", fit.asked);
  file.text("library", fit.library);
  file.text("waiting", fit.waiting);
  file.text("algorithm", fit.carrier.algorithm);
  file.template word<ChosenBy>("chosen_by", fit.carrier.chosen_by, to_string, parse_chosen_by);
  file.integer("pipeline_segments", fit.carrier.segments, 1);
  file.number("gamma_s_per_byte", fit.gamma);
  file.template word<RangeOf>("ranges_of", fit.range_of, to_string, parse_range_of);
  file.list("ranges", fit.ranges);
  file.list("layouts", fit.layouts);
  file.require(!fit.layouts.empty(), "layouts", "is empty");
  file.text("source", fit.source);
  if (file.has("shared_cores", fit.carrier.cores > 0)) {
    file.integer("shared_cores", fit.carrier.cores, 1);
  }
  if (file.has("two_way", fit.carrier.two_way)) file.boolean("two_way", fit.carrier.two_way);
  file.optional("foresight", fit.foresight);
}

void describe(auto& file, Of<ContentionRange> auto& range) {
  file.number("from_bytes", range.from);
  file.number("to_bytes", range.to);
  file.require(!(range.from > range.to), "to_bytes", "ends before it begins");
  file.object("compute_slowdown", range.compute);
  file.object("messages_slowdown", range.messages);
  constexpr const char* speed_up = "is below 1, which would be a speed-up";
  file.require(!(range.compute.low < 1), "compute_slowdown", speed_up);
  file.require(!(range.messages.low < 1), "messages_slowdown", speed_up);
  file.integer("points", range.points, 1);
}

void describe(auto& file, Of<ContentionFit> auto& fit) {
  file.text("collective", fit.collective);
  file.integer("ranks", fit.ranks, 2);
  file.integer("ranks_on_node", fit.ranks_on_node, 1);
  file.text("waiting", fit.waiting);
  file.word("beside", fit.work, work_kind_name, parse_work_kind);
  file.integer("threads", fit.threads, 1);
  file.integer("cores_per_rank", fit.cores_per_rank, 1);
  file.list("ranges", fit.ranges);
  file.require(!fit.ranges.empty(), "ranges", "is empty");
  file.text("source", fit.source);
}

void describe(auto& file, Of<AffineFit> auto& fit) {
  file.integer("ranks_on_node", fit.ranks_on_node, 1);
  file.integer("threads", fit.threads, 1);
  file.word("dtype", fit.dtype, dtype_name, parse_dtype);
  describe_cost(file, "segments", fit.cost);
  file.text("source", fit.source);
  file.optional("give_s", fit.give);
}

void describe(auto& file, Of<GraphLaunch> auto& launch) {
  file.object("host_start_s", launch.host_start);
  file.object("host_s_per_kernel", launch.host_per_kernel);
  file.object("device_start_s", launch.device_start);
  file.text("source", launch.source);
}

void describe(auto& file, Of<LoaderFit> auto& fit) {
  file.integer("ranks_on_node", fit.ranks_on_node, 1);
  file.integer("height", fit.height, 1);
  file.integer("width", fit.width, 1);
  file.object("read_s", fit.read);
  file.object("decode_s", fit.decode);
  file.object("augment_s", fit.augment);
  file.text("source", fit.source);
}

void describe(auto& file, Of<MeasuredOn> auto& measured_on) {
  file.text("cpu", measured_on.cpu);
  file.text("host_hash", measured_on.host_hash);
  file.text("backend", measured_on.backend);
  file.map("libraries", measured_on.libraries);
  if (file.has("links", !measured_on.links.empty())) file.text("links", measured_on.links);
}

void describe(auto& file, Of<ReductionTime> auto& reduction) {
  file.object("gamma_s_per_byte", reduction.per_byte);
  file.text("from", reduction.from);
}

void describe(auto& file, Of<Machine> auto& machine) {
  std::string schema = "dlscale.machine";
  int version = 1;
  file.text("schema", schema);
  file.integer("version", version, 0);
  file.require(schema == "dlscale.machine", "schema", "is not dlscale.machine");
  file.require(version == 1, "version", "is not 1");
  file.boolean("fitted", machine.fitted);
  file.object("cluster", machine.cluster);
  file.list("kernels", machine.kernels);
  file.list("collectives", machine.collectives);
  if (file.has("algorithms", true)) file.list("algorithms", machine.algorithms);
  file.list("h2d", machine.h2d);
  file.list("update", machine.update);
  file.list("loaders", machine.loaders);
  file.map("memory_bandwidth_bytes_per_s", machine.memory_bandwidth);
  file.list("sources", machine.sources);
  if (file.has("measured_on", true)) file.object("measured_on", machine.measured_on);
  file.optional("reduction", machine.reduction);
  if (file.has("contention", !machine.contention.empty())) {
    file.list("contention", machine.contention);
  }
  file.optional("graph_launch", machine.graph_launch);
}

}  // namespace dlscale::model::machine_file

namespace dlscale::model {
namespace {

using Json = nlohmann::json;

/// Rejects equal keys, of which the parser keeps the last: such a file was damaged or edited.
Json parse(std::string_view text, std::string_view where) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      throw ConfigError(fmt::format("{}: key \"{}\" is there twice. Remove one.", where,
                                    parsed.get<std::string>()));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw ConfigError(fmt::format("{}: {}. Calibrate it again.", where, json_problem(error, text)));
  }
}

}  // namespace

std::string machine_json(const Machine& machine) {
  return machine_file::write(machine).dump(2, ' ', false, Json::error_handler_t::replace);
}

void save_machine(const std::filesystem::path& path, const Machine& machine) {
  if (const int error = write_whole(path, machine_json(machine) + '\n'); error != 0) {
    throw ConfigError(fmt::format("cannot write {}: {}. Choose another place with -o.",
                                  path.string(), std::strerror(error)));
  }
}

Machine machine_from_json(std::string_view text, std::string_view where) {
  const Json json = parse(text, where);
  try {
    return machine_file::read<Machine>(machine_file::Value(json, fmt::format("{}:", where)));
  } catch (const Json::exception& error) {
    throw ConfigError(fmt::format("{}: {}. Calibrate it again.", where, json_problem(error, text)));
  }
}

Machine load_machine(const std::filesystem::path& path) {
  refuse_other_kind(path, FileKind::machine);
  return machine_from_json(read_input(path, "Calibrate a machine first."), path.string());
}

}  // namespace dlscale::model
