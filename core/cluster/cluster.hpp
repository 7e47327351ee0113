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

/// Nominal hardware, as bought. Every number comes from a data sheet, named in `source`.
/// A fitted machine is model::Machine.

enum class DeviceKind { cpu, gpu };

struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::gpu;
  std::map<DType, FlopsPerSecond> peak;  ///< by precision; absent = not offered or not known
  BytesPerSecond memory_bandwidth;
  Bytes memory;
  Seconds launch;  ///< least time of one kernel; 0 where kernels are plain calls
  std::string source;
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
  Seconds decode;  ///< one core's time to decode and augment one picture of ≈ 110 KB; 0: not known
  std::string source;
};

struct Storage {
  BytesPerSecond read_bandwidth;  ///< 0: not known
  bool shared_by_nodes = false;   ///< one server for all nodes (NFS) or a disk in each
  std::string source;
};

struct Cluster {
  std::string name;
  std::string doc;
  int nodes = 1;
  int devices_per_node = 1;
  Device device;
  Host host;
  LinkSpec host_device;  ///< host memory to device; on a CPU device: a copy in memory
  /// Per device, when all of a node send on a ring; may be empty if a node has one.
  LinkSpec intra_node;
  LinkSpec inter_node;  ///< per node, all adapters together; may be empty if there is one
  Storage storage;
  std::optional<NodeLinks> node = {};        ///< absent: devices reach each other alike
  std::optional<NetworkLinks> network = {};  ///< absent: nodes do, at the full rate
  std::optional<NcclFacts> nccl;             ///< GPUs only; absent = not known
  /// nccl only if `nccl` is there; quickest where nobody says what the library does.
  AllReduceRule all_reduce = AllReduceRule::quickest;
  [[nodiscard]] int workers() const { return nodes * devices_per_node; }
};

/// Reads configs/clusters/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
/// Missing and unknown keys, numbers without units and values out of range throw ConfigError that
/// names file, path and what to write.
Cluster load_cluster(std::string_view name);

}  // namespace dlscale
