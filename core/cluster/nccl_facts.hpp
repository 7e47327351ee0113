#pragma once
#include <string>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale {

/// Inputs of NCCL's cost model about GPUs and their connections. They are NCCL's own numbers, which
/// are lower than a data sheet's.
struct NcclFacts {
  /// The generation, or the next later one of this list.
  enum class Gpu { volta, ampere, hopper, blackwell };
  enum class Fabric { pcie, nvlink, nvswitch };  ///< between the GPUs of a node
  enum class Processor { intel, amd, other };    ///< vendor of the host processor
  Gpu gpu = Gpu::hopper;
  Fabric fabric = Fabric::nvswitch;
  Processor processor = Processor::intel;
  BytesPerSecond gpu_bandwidth;      ///< from one GPU to the others of its node, in each direction
  int adapters = 1;                  ///< network adapters per node
  BytesPerSecond adapter_bandwidth;  ///< per adapter, or of a GPU's path to it if that is slower
  std::string source;
};

// The words for these values in configuration files; the parsers throw ConfigError.
std::string_view nccl_gpu_name(NcclFacts::Gpu gpu);
NcclFacts::Gpu parse_nccl_gpu(std::string_view name);
std::string_view nccl_fabric_name(NcclFacts::Fabric fabric);
NcclFacts::Fabric parse_nccl_fabric(std::string_view name);
std::string_view nccl_processor_name(NcclFacts::Processor processor);
NcclFacts::Processor parse_nccl_processor(std::string_view name);

/// Rule by which the ranks of a cluster sum their gradients, unless it was measured.
enum class AllReduceRule {
  ring,          ///< one ring over all ranks, as fast as its slowest link
  hierarchical,  ///< rings within the nodes, across them, and within them again
  nccl,          ///< NCCL's choice, with the time of its own cost model
  /// The fastest for each message, as libraries choose, among rings over all ranks, rings in two
  /// levels and trees of nodes.
  quickest
};
std::string_view all_reduce_rule_name(AllReduceRule rule);
AllReduceRule parse_all_reduce_rule(std::string_view name);  ///< throws ConfigError

}  // namespace dlscale
