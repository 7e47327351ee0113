#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/cluster/nccl_facts.hpp"
#include "core/cluster/node_links.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// Nominal hardware, as bought. Every number comes from a data sheet, which `source` names. A
/// fitted machine is model::Machine.

enum class DeviceKind { cpu, gpu };

using Hertz = Quantity<-1, 0, 0>;

/// Multiprocessors and clocks of a GPU, by its data sheet.
struct DeviceUnits {
  int multiprocessors = 1;
  int cores = 1;  ///< f32 multiply-adds a clock, of all multiprocessors
  Hertz boost_clock;
  Hertz base_clock;    ///< under any load; unknown: as nominal_device() says
  Hertz tensor_clock;  ///< of the peaks of tensor cores
};

struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::gpu;
  std::map<DType, FlopsPerSecond> peak;  ///< by precision; absent: not offered or unknown
  BytesPerSecond memory_bandwidth;
  Bytes memory;
  Seconds launch;  ///< minimum time of one kernel; 0 where kernels are plain calls
  std::string source;
  /// Name of the data sheet of these figures, for load_device_sheet(); empty: they are from none.
  /// Where both state a figure, that above counts, since a question may replace it.
  std::string sheet = {};
  std::optional<DeviceUnits> units = {};  ///< GPUs with a data sheet; absent: unknown
  int launched = 0;                       ///< year; 0: unknown
};

/// One direction of a full-duplex link.
struct LinkSpec {
  std::string name;
  Seconds latency;
  BytesPerSecond bandwidth;
  std::string source;
};

struct Host {
  int cores = 1;
  Seconds decode;  ///< one core's time to decode and augment one image of ≈ 110 KB; 0: unknown
  std::string source;
};

struct Storage {
  BytesPerSecond read_bandwidth;  ///< 0: unknown
  bool shared_by_nodes = false;   ///< one server for all nodes (NFS) rather than a disk in each
  std::string source;
};

struct Cluster {
  std::string name;
  std::string doc;
  int nodes = 1;
  int devices_per_node = 1;
  Device device;
  Host host;
  LinkSpec host_device;  ///< host memory to device; on a CPU device: a memory copy
  /// Per device, when all devices of a node send on a ring; may be empty for one device per node.
  LinkSpec intra_node;
  LinkSpec inter_node;  ///< per node, all adapters together; may be empty for one node
  Storage storage;
  std::optional<NodeLinks> node = {};  ///< absent: all devices of a node are connected alike
  /// absent: all nodes are connected alike, at the full rate
  std::optional<NetworkLinks> network = {};
  std::optional<NcclFacts> nccl;  ///< GPUs only; absent: unknown
  /// The rule nccl requires `nccl`. The default is quickest, for when the library's rule is
  /// unknown.
  AllReduceRule all_reduce = AllReduceRule::quickest;
  [[nodiscard]] int workers() const { return nodes * devices_per_node; }
};

/// Reads configs/clusters/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
/// Missing and unknown keys, numbers without units and values out of range throw ConfigError, which
/// names file, path and what to write.
Cluster load_cluster(std::string_view name);

}  // namespace dlscale
