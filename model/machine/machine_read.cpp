#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/text/json_problem.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/machine_links.hpp"
#include "model/machine/machine_value.hpp"

namespace dlscale::model {
namespace {

using namespace machine_file;
using Json = nlohmann::json;

/// Reads the host time; files of processors and of earlier versions lack it.
std::optional<Estimate<Seconds>> read_give(Object& object) {
  if (!object.has("give_s")) return std::nullopt;
  return read_estimate<Seconds>(object.take("give_s"));
}

Device read_device(const Value& value) {
  Object object(value);
  Device device;
  device.name = object.take("name").text();
  const std::string kind = object.take("kind").text();
  if (kind != "cpu" && kind != "gpu") object.fail("/kind is neither \"cpu\" nor \"gpu\"");
  device.kind = kind == "cpu" ? DeviceKind::cpu : DeviceKind::gpu;
  for (const auto& [dtype, rate] : object.take("peak_flops_per_s").members()) {
    const double peak = rate.rate();
    if (peak == 0) rate.fail("is 0, which no device has");
    device.peak[parse_dtype(dtype)] = FlopsPerSecond(peak);
  }
  device.memory_bandwidth = BytesPerSecond(object.take("memory_bandwidth_bytes_per_s").rate());
  device.memory = Bytes(object.take("memory_bytes").number());
  device.launch = Seconds(object.take("launch_s").number());
  device.source = object.take("source").text();
  object.done();
  return device;
}

LinkSpec read_link(const Value& value) {
  Object object(value);
  LinkSpec link;
  link.name = object.take("name").text();
  link.latency = Seconds(object.take("latency_s").number());
  link.bandwidth = BytesPerSecond(object.take("bandwidth_bytes_per_s").rate());
  link.source = object.take("source").text();
  object.done();
  return link;
}

Host read_host(const Value& value) {
  Object object(value);
  Host host;
  host.cores = object.take("cores").integer(1);
  host.decode = Seconds(object.take("decode_s").number());
  host.source = object.take("source").text();
  object.done();
  return host;
}

Storage read_storage(const Value& value) {
  Object object(value);
  Storage storage;
  storage.read_bandwidth = BytesPerSecond(object.take("read_bandwidth_bytes_per_s").rate());
  storage.shared_by_nodes = object.take("shared_by_nodes").boolean();
  storage.source = object.take("source").text();
  object.done();
  return storage;
}

NcclFacts read_nccl(const Value& value) {
  Object object(value);
  NcclFacts facts;
  facts.gpu = read_word(object.take("gpu"), parse_nccl_gpu);
  facts.fabric = read_word(object.take("fabric"), parse_nccl_fabric);
  facts.processor = read_word(object.take("processor"), parse_nccl_processor);
  facts.gpu_bandwidth = BytesPerSecond(object.take("gpu_bandwidth_bytes_per_s").rate());
  facts.adapters = object.take("adapters").integer(1);
  facts.adapter_bandwidth = BytesPerSecond(object.take("adapter_bandwidth_bytes_per_s").rate());
  facts.source = object.take("source").text();
  object.done();
  return facts;
}

/// Reads the rule of all-reduces, which files of earlier versions lack.
void read_all_reduce(Object& object, Cluster& cluster) {
  if (object.has("nccl")) cluster.nccl = read_nccl(object.take("nccl"));
  if (object.has("all_reduce")) {
    cluster.all_reduce = read_word(object.take("all_reduce"), parse_all_reduce_rule);
  }
  if (cluster.all_reduce == AllReduceRule::nccl && !cluster.nccl) {
    object.fail("/all_reduce is nccl, but there are no facts under nccl");
  }
}

Cluster read_cluster(const Value& value) {
  Object object(value);
  Cluster cluster;
  cluster.name = object.take("name").text();
  cluster.doc = object.take("doc").text();
  cluster.nodes = object.take("nodes").integer(1);
  cluster.devices_per_node = object.take("devices_per_node").integer(1);
  cluster.device = read_device(object.take("device"));
  cluster.host = read_host(object.take("host"));
  cluster.host_device = read_link(object.take("host_device"));
  cluster.intra_node = read_link(object.take("intra_node"));
  cluster.inter_node = read_link(object.take("inter_node"));
  cluster.storage = read_storage(object.take("storage"));
  read_links_of(object, cluster);
  read_all_reduce(object, cluster);
  object.done();
  return cluster;
}

DType read_dtype(const Value& value) {
  const std::string name = value.text();
  for (const DType dtype : all_dtypes) {
    if (name == dtype_name(dtype)) return dtype;
  }
  value.fail(fmt::format("is \"{}\", which is not a precision", name));
}

Pass read_pass(const Value& value) {
  const std::string name = value.text();
  for (const Pass pass :
       {Pass::forward, Pass::backward_data, Pass::backward_filter, Pass::accumulate}) {
    if (name == pass_name(pass)) return pass;
  }
  value.fail(fmt::format("is \"{}\", which is not a pass", name));
}

KernelTime read_kernel(const Value& value) {
  Object object(value);
  KernelTime kernel;
  kernel.kernel = object.take("kernel").text();
  kernel.pass = read_pass(object.take("pass"));
  kernel.dtype = read_dtype(object.take("dtype"));
  kernel.batch = object.take("batch").integer(1);
  kernel.threads = object.take("threads").integer(1);
  kernel.ranks_on_node = object.take("ranks_on_node").integer(1);
  kernel.time = read_estimate<Seconds>(object.take("time_s"));
  kernel.give = read_give(object);
  kernel.work.flops = Flops(object.take("flops").number());
  kernel.work.bytes = Bytes(object.take("bytes").number());
  kernel.implementation = object.take("implementation").text();
  kernel.source = object.take("source").text();
  object.done();
  return kernel;
}

LineSpread read_line_spread(const Value& value) {
  Object object(value);
  LineSpread spread;
  spread.mean = Bytes(object.take("mean_bytes").number());
  spread.at_mean = Seconds(object.take("at_mean_s").number());
  spread.slope = SecondsPerByte(object.take("slope_s_per_byte").number());
  object.done();
  return spread;
}

Segment read_segment(const Value& value) {
  Object object(value);
  Segment segment;
  segment.from = Bytes(object.take("from_bytes").number());
  segment.to = Bytes(object.take("to_bytes").number());
  segment.alpha = read_estimate<Seconds>(object.take("alpha_s"));
  segment.beta = read_estimate<SecondsPerByte>(object.take("beta_s_per_byte"));
  segment.median_residual = object.take("median_residual").number();
  segment.points = object.take("points").integer(0);
  if (object.has("spread")) segment.spread = read_line_spread(object.take("spread"));
  object.done();
  return segment;
}

Piecewise read_cost(const Value& value) {
  try {
    return Piecewise(read_list(value, read_segment));
  } catch (const ConfigError& error) {
    value.fail(fmt::format("is not a cost by size: {}", error.what()));
  }
}

CollectiveFit read_collective(const Value& value) {
  Object object(value);
  CollectiveFit fit;
  fit.collective = object.take("collective").text();
  fit.ranks = object.take("ranks").integer(2);
  fit.ranks_on_node = object.take("ranks_on_node").integer(1);
  fit.waiting = object.take("waiting").text();
  fit.cost = read_cost(object.take("segments"));
  fit.source = object.take("source").text();
  if (object.has("memory")) {
    const Value memory = object.take("memory");
    fit.memory = memory.text();
    if (fit.memory != "host" && fit.memory != "device") memory.fail("is neither host nor device");
  }
  object.done();
  return fit;
}

LinkFit read_link_fit(const Value& value) {
  Object object(value);
  LinkFit link;
  link.alpha = read_estimate<Seconds>(object.take("alpha_s"));
  link.beta = read_estimate<SecondsPerByte>(object.take("beta_s_per_byte"));
  object.done();
  return link;
}

/// Reads a spread; χ, the last, is missing in files of earlier versions.
LinkSpread read_link_spread(const Value& value) {
  LinkSpread spread{};
  const std::vector<Value> rows = value.elements();
  const bool earlier = rows.size() + 1 == spread.size();
  if (rows.size() != spread.size() && !earlier) value.fail("has neither 4 nor 5 rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<Value> row = rows[i].elements();
    if (row.size() != rows.size()) rows[i].fail("has more or fewer numbers than there are rows");
    for (std::size_t j = 0; j < row.size(); ++j) spread[i][j] = row[j].signed_number();
  }
  return spread;
}

LinkRange read_range(const Value& value) {
  Object object(value);
  LinkRange range;
  range.from = Bytes(object.take("from_bytes").number());
  range.to = Bytes(object.take("to_bytes").number());
  if (range.from > range.to) object.fail("ends before it begins");
  if (object.has("intra_node")) range.intra = read_link_fit(object.take("intra_node"));
  if (object.has("inter_node")) range.inter = read_link_fit(object.take("inter_node"));
  if (object.has("both_ways_s_per_byte")) {
    range.both_ways = read_estimate<SecondsPerByte>(object.take("both_ways_s_per_byte"));
  }
  range.median_residual = object.take("median_residual").number();
  range.points = object.take("points").integer(1);
  if (object.has("spread_si")) range.spread = read_link_spread(object.take("spread_si"));
  object.done();
  return range;
}

FormRatio read_form_ratio(const Value& value) {
  Object object(value);
  FormRatio ratio;
  ratio.size = Bytes(object.take("bytes").number());
  ratio.log_ratio = object.take("log_ratio").signed_number();
  object.done();
  return ratio;
}

FormRatios read_form_ratios(const Value& value) {
  Object object(value);
  FormRatios ratios;
  ratios.at = read_list(object.take("at"), read_form_ratio);
  ratios.deviation = object.take("deviation").number();
  object.done();
  return ratios;
}

LayoutFit read_layout(const Value& value) {
  Object object(value);
  LayoutFit fit;
  fit.layout = {object.take("ranks").integer(2), object.take("ranks_on_node").integer(1)};
  fit.cost = read_cost(object.take("segments"));
  fit.line = read_cost(object.take("straight_line")).segments().front();
  if (object.has("beside_closed_form")) {
    fit.ratios = read_form_ratios(object.take("beside_closed_form"));
  }
  object.done();
  return fit;
}

Foresight read_foresight(const Value& value) {
  Object object(value);
  Foresight foresight;
  foresight.ranks = object.take("ranks").integer(2);
  foresight.from = object.take("from_ranks").integer(2);
  foresight.median = object.take("median_abs").number();
  foresight.deviation = object.take("deviation").number();
  object.done();
  return foresight;
}

AlgorithmFit read_algorithm(const Value& value) {
  Object object(value);
  AlgorithmFit fit;
  fit.carrier.collective = object.take("collective").text();
  fit.asked = object.take("asked").text();
  fit.library = object.take("library").text();
  fit.waiting = object.take("waiting").text();
  fit.carrier.algorithm = object.take("algorithm").text();
  fit.carrier.chosen_by = read_word(object.take("chosen_by"), parse_chosen_by);
  fit.carrier.segments = object.take("pipeline_segments").integer(1);
  fit.gamma = SecondsPerByte(object.take("gamma_s_per_byte").number());
  fit.range_of = read_word(object.take("ranges_of"), parse_range_of);
  fit.ranges = read_list(object.take("ranges"), read_range);
  fit.layouts = read_list(object.take("layouts"), read_layout);
  if (fit.layouts.empty()) object.fail("/layouts is empty");
  if (object.has("shared_cores")) fit.carrier.cores = object.take("shared_cores").integer(1);
  if (object.has("two_way")) fit.carrier.two_way = object.take("two_way").boolean();
  if (object.has("foresight")) fit.foresight = read_foresight(object.take("foresight"));
  fit.source = object.take("source").text();
  object.done();
  return fit;
}

ReductionTime read_reduction(const Value& value) {
  Object object(value);
  ReductionTime reduction;
  reduction.per_byte = read_estimate<SecondsPerByte>(object.take("gamma_s_per_byte"));
  reduction.from = object.take("from").text();
  object.done();
  return reduction;
}

/// Reads a slow-down, which is at least 1.
Estimate<double> read_slowdown(const Value& value) {
  const auto slowdown = read_estimate<double>(value);
  if (slowdown.low < 1) value.fail("is below 1, which would be a speed-up");
  return slowdown;
}

ContentionRange read_contention_range(const Value& value) {
  Object object(value);
  ContentionRange range;
  range.from = Bytes(object.take("from_bytes").number());
  range.to = Bytes(object.take("to_bytes").number());
  if (range.from > range.to) object.fail("ends before it begins");
  range.compute = read_slowdown(object.take("compute_slowdown"));
  range.messages = read_slowdown(object.take("messages_slowdown"));
  range.points = object.take("points").integer(1);
  object.done();
  return range;
}

ContentionFit read_contention(const Value& value) {
  Object object(value);
  ContentionFit fit;
  fit.collective = object.take("collective").text();
  fit.ranks = object.take("ranks").integer(2);
  fit.ranks_on_node = object.take("ranks_on_node").integer(1);
  fit.waiting = object.take("waiting").text();
  fit.work = read_word(object.take("beside"), parse_work_kind);
  fit.threads = object.take("threads").integer(1);
  fit.cores_per_rank = object.take("cores_per_rank").integer(1);
  fit.ranges = read_list(object.take("ranges"), read_contention_range);
  if (fit.ranges.empty()) object.fail("/ranges is empty");
  fit.source = object.take("source").text();
  object.done();
  return fit;
}

AffineFit read_affine(const Value& value) {
  Object object(value);
  AffineFit fit;
  fit.ranks_on_node = object.take("ranks_on_node").integer(1);
  fit.threads = object.take("threads").integer(1);
  fit.dtype = read_dtype(object.take("dtype"));
  fit.give = read_give(object);
  fit.cost = read_cost(object.take("segments"));
  fit.source = object.take("source").text();
  object.done();
  return fit;
}

GraphLaunch read_graph_launch(const Value& value) {
  Object object(value);
  GraphLaunch launch;
  launch.host_start = read_estimate<Seconds>(object.take("host_start_s"));
  launch.host_per_kernel = read_estimate<Seconds>(object.take("host_s_per_kernel"));
  launch.device_start = read_estimate<Seconds>(object.take("device_start_s"));
  launch.source = object.take("source").text();
  object.done();
  return launch;
}

LoaderFit read_loader(const Value& value) {
  Object object(value);
  LoaderFit fit;
  fit.ranks_on_node = object.take("ranks_on_node").integer(1);
  fit.height = object.take("height").integer(1);
  fit.width = object.take("width").integer(1);
  fit.read = read_estimate<Seconds>(object.take("read_s"));
  fit.decode = read_estimate<Seconds>(object.take("decode_s"));
  fit.augment = read_estimate<Seconds>(object.take("augment_s"));
  fit.source = object.take("source").text();
  object.done();
  return fit;
}

std::string read_text(const Value& value) {
  return value.text();
}

MeasuredOn read_measured_on(const Value& value) {
  Object object(value);
  MeasuredOn measured_on;
  measured_on.cpu = object.take("cpu").text();
  measured_on.host_hash = object.take("host_hash").text();
  measured_on.backend = object.take("backend").text();
  for (const auto& [name, version] : object.take("libraries").members()) {
    measured_on.libraries[name] = version.text();
  }
  if (object.has("links")) measured_on.links = object.take("links").text();
  object.done();
  return measured_on;
}

Machine read_machine(const Value& value) {
  Object object(value);
  if (object.take("schema").text() != "dlscale.machine") value.fail("is not dlscale.machine");
  if (object.take("version").integer(0) != 1) value.fail("is not of version 1");
  Machine machine;
  machine.fitted = object.take("fitted").boolean();
  machine.cluster = read_cluster(object.take("cluster"));
  machine.kernels = read_list(object.take("kernels"), read_kernel);
  machine.collectives = read_list(object.take("collectives"), read_collective);
  if (object.has("algorithms")) {
    machine.algorithms = read_list(object.take("algorithms"), read_algorithm);
  }
  if (object.has("reduction")) machine.reduction = read_reduction(object.take("reduction"));
  if (object.has("contention")) {
    machine.contention = read_list(object.take("contention"), read_contention);
  }
  if (object.has("graph_launch")) {
    machine.graph_launch = read_graph_launch(object.take("graph_launch"));
  }
  machine.h2d = read_list(object.take("h2d"), read_affine);
  machine.update = read_list(object.take("update"), read_affine);
  machine.loaders = read_list(object.take("loaders"), read_loader);
  for (const auto& [kernel, rate] : object.take("memory_bandwidth_bytes_per_s").members()) {
    machine.memory_bandwidth[kernel] = read_estimate<BytesPerSecond>(rate);
  }
  machine.sources = read_list(object.take("sources"), read_text);
  if (object.has("measured_on")) machine.measured_on = read_measured_on(object.take("measured_on"));
  object.done();
  return machine;
}

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

Machine machine_from_json(std::string_view text, std::string_view where) {
  const Json json = parse(text, where);
  try {
    return read_machine(Value(json, fmt::format("{}:", where)));
  } catch (const Json::exception& error) {
    throw ConfigError(fmt::format("{}: {}. Calibrate it again.", where, json_problem(error, text)));
  }
}

Machine load_machine(const std::filesystem::path& path) {
  return machine_from_json(read_input(path, "Calibrate a machine first."), path.string());
}

}  // namespace dlscale::model
