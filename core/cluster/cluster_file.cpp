#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/cluster/input_rate.hpp"
#include "core/cluster/node_links_file.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange count_range{1, 1'000'000};
constexpr IntegerRange launch_years{2000, 2100};

DeviceKind read_device_kind(const ConfigMap& map) {
  const std::array<std::string, 2> words{"cpu", "gpu"};
  const std::string word = map.text("kind");
  if (word == "cpu") return DeviceKind::cpu;
  if (word == "gpu") return DeviceKind::gpu;
  map.refuse("kind", "no kind of device", suggestion(word, words));
}

std::map<DType, FlopsPerSecond> read_device_peak(const ConfigMap& map) {
  std::array<std::string_view, all_dtypes.size()> names;
  std::transform(all_dtypes.begin(), all_dtypes.end(), names.begin(), dtype_name);
  map.allow_only(names);
  std::map<DType, FlopsPerSecond> peak;
  for (const DType dtype : all_dtypes) {
    const std::string_view name = dtype_name(dtype);
    if (map.has(name)) peak[dtype] = map.quantity<FlopsPerSecond>(name);
  }
  return peak;
}

/// Figures of a data sheet, and what no sheet states.
Device read_device_of_sheet(const ConfigMap& map) {
  map.allow_only({"sheet", "launch", "source"});
  const std::string id = map.text("sheet");
  const bool is_file = id.find('/') != std::string::npos || id.ends_with(".yaml");
  const std::vector<std::string> sheets = config_names("devices");
  if (!is_file && std::ranges::find(sheets, id) == sheets.end()) {
    map.refuse("sheet", "no data sheet in configs/devices", suggestion(id, sheets));
  }
  const auto launch = map.quantity<Seconds>("launch");
  Device device = nominal_device(load_device_sheet(id), launch);
  device.source += fmt::format("; {}", map.text("source"));
  return device;
}

Device read_device(const ConfigMap& map) {
  if (map.has("sheet")) return read_device_of_sheet(map);
  map.allow_only(
      {"name", "kind", "peak", "memory_bandwidth", "memory", "launch", "launched", "source"});
  Device device;
  device.name = map.name("name");
  device.kind = read_device_kind(map);
  if (device.kind == DeviceKind::gpu) {
    map.refuse("kind", "the times of a GPU depend on figures that only its data sheet has",
               "Name it instead: {sheet: h100_sxm5_80gb, launch: 3.8 us, source: …}. "
               "configs/devices has the names, and a file of your own will do, too.");
  }
  device.peak = read_device_peak(map.map("peak"));
  device.memory_bandwidth = map.quantity<BytesPerSecond>("memory_bandwidth");
  device.memory = map.quantity<Bytes>("memory");
  if (map.has("launch")) device.launch = map.quantity<Seconds>("launch");
  if (map.has("launched")) device.launched = map.integer("launched", launch_years);
  device.source = map.text("source");
  return device;
}

Host read_host(const ConfigMap& map) {
  map.allow_only({"cores", "decode", "source"});
  Host host;
  host.cores = map.integer("cores", count_range);
  if (map.has("decode")) host.decode = map.quantity<Seconds>("decode");
  host.source = map.text("source");
  return host;
}

LinkSpec read_link(const ConfigMap& map) {
  map.allow_only({"name", "latency", "bandwidth", "source"});
  LinkSpec link;
  link.name = map.name("name");
  link.latency = map.quantity<Seconds>("latency");
  link.bandwidth = map.quantity<BytesPerSecond>("bandwidth");
  link.source = map.text("source");
  return link;
}

Storage read_storage(const ConfigMap& map) {
  map.allow_only({"read_bandwidth", "shared_by_nodes", "source"});
  Storage storage;
  const auto samples = parse_input_rate(map.text("read_bandwidth"), map.where("read_bandwidth"));
  storage.read_bandwidth = samples ? *samples : map.quantity<BytesPerSecond>("read_bandwidth");
  storage.shared_by_nodes = map.flag_or("shared_by_nodes", storage.shared_by_nodes);
  storage.source = map.text("source");
  return storage;
}

/// Limits far beyond the rates of GPUs and adapters, on either side, to detect typing errors.
BytesPerSecond read_wire(const ConfigMap& map, std::string_view key) {
  const auto rate = map.quantity<BytesPerSecond>(key);
  if (rate < BytesPerSecond(1e6) || rate > BytesPerSecond(1e15)) {
    map.refuse(key, "out of [1 MB/s, 1000 TB/s]", "Write what NCCL counts for one GPU or adapter.");
  }
  return rate;
}

NcclFacts read_nccl(const ConfigMap& map) {
  map.allow_only(
      {"gpu", "fabric", "processor", "gpu_bandwidth", "adapters", "adapter_bandwidth", "source"});
  NcclFacts facts;
  facts.gpu = read_word(map, "gpu", parse_nccl_gpu);
  facts.fabric = read_word(map, "fabric", parse_nccl_fabric);
  facts.processor = read_word(map, "processor", parse_nccl_processor);
  facts.gpu_bandwidth = read_wire(map, "gpu_bandwidth");
  facts.adapters = map.integer("adapters", {1, 64});
  facts.adapter_bandwidth = read_wire(map, "adapter_bandwidth");
  facts.source = map.text("source");
  return facts;
}

/// A cluster with NCCL's facts uses NCCL's rule, unless another one is named.
void read_all_reduce(const ConfigMap& map, Cluster& cluster) {
  if (map.has("nccl")) {
    if (cluster.device.kind != DeviceKind::gpu) {
      throw ConfigError(fmt::format(
          "{} describes NCCL, which joins GPUs, but the device is a processor. Leave it out.",
          map.where("nccl")));
    }
    cluster.nccl = read_nccl(map.map("nccl"));
    cluster.all_reduce = AllReduceRule::nccl;
  }
  if (map.has("all_reduce")) {
    cluster.all_reduce = read_word(map, "all_reduce", parse_all_reduce_rule);
  }
  if (cluster.all_reduce == AllReduceRule::nccl && !cluster.nccl) {
    map.refuse("all_reduce", "without what NCCL's cost model needs", "Add the key nccl.");
  }
}

/// An unused link may be left out.
void read_links(const ConfigMap& map, Cluster& cluster) {
  map.allow_only({"host_device", "intra_node", "inter_node"});
  cluster.host_device = read_link(map.map("host_device"));
  if (cluster.devices_per_node > 1 || map.has("intra_node")) {
    cluster.intra_node = read_link(map.map("intra_node"));
  }
  if (cluster.nodes > 1 || map.has("inter_node")) {
    cluster.inter_node = read_link(map.map("inter_node"));
  }
}

/// Details of the links besides their bandwidth.
void read_topology(const ConfigMap& map, Cluster& cluster) {
  if (map.has("network")) {
    if (cluster.inter_node.bandwidth <= BytesPerSecond()) {
      throw ConfigError(fmt::format(
          "{} describes the link between nodes, which /links/inter_node does not state. Add it.",
          map.where("network")));
    }
    cluster.network = read_network_links(map.map("network"));
  }
  if (map.has("node")) {
    const NetworkLinks* network = cluster.network ? &*cluster.network : nullptr;
    cluster.node = read_node_links(map.map("node"), network, cluster.devices_per_node);
  }
}

}  // namespace

Cluster load_cluster(std::string_view name) {
  const ConfigMap map = ConfigMap::load(find_config("clusters", name));
  map.allow_only({"cluster", "doc", "nodes", "devices_per_node", "device", "host", "links", "node",
                  "network", "storage", "nccl", "all_reduce"});
  Cluster cluster;
  cluster.name = map.name("cluster");
  cluster.doc = map.text_or("doc", "");
  cluster.nodes = map.integer("nodes", count_range);
  cluster.devices_per_node = map.integer("devices_per_node", {1, 1024});
  cluster.device = read_device(map.map("device"));
  cluster.host = read_host(map.map("host"));
  read_links(map.map("links"), cluster);
  read_topology(map, cluster);
  if (map.has("storage")) cluster.storage = read_storage(map.map("storage"));
  read_all_reduce(map, cluster);
  return cluster;
}

}  // namespace dlscale
