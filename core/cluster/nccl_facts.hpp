#pragma once
#include <string>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale {

/// What NCCL's cost model is told of GPUs and of the ways between them, in NCCL's own numbers,
/// which are less than a data sheet's.
struct NcclFacts {
  enum class Gpu { volta, ampere, hopper, blackwell };  ///< the generation, or the next later one
  enum class Fabric { pcie, nvlink, nvswitch };         ///< between the GPUs of a node
  enum class Processor { intel, amd, other };           ///< the maker of the host's
  Gpu gpu = Gpu::hopper;
  Fabric fabric = Fabric::nvswitch;
  Processor processor = Processor::intel;
  BytesPerSecond gpu_bandwidth;      ///< of one GPU to the others of its node, each way
  int adapters = 1;                  ///< of a node to the network
  BytesPerSecond adapter_bandwidth;  ///< of one, or of a GPU's way to it if that is less
  std::string source;
};

// The words for them in configuration files; the parsers throw ConfigError.
std::string_view nccl_gpu_name(NcclFacts::Gpu gpu);
NcclFacts::Gpu parse_nccl_gpu(std::string_view name);
std::string_view nccl_fabric_name(NcclFacts::Fabric fabric);
NcclFacts::Fabric parse_nccl_fabric(std::string_view name);
std::string_view nccl_processor_name(NcclFacts::Processor processor);
NcclFacts::Processor parse_nccl_processor(std::string_view name);

/// By which rule the ranks of a cluster add their gradients, as long as nobody measured it.
enum class AllReduceRule {
  ring,          ///< one ring over all ranks, as fast as its slowest link (1.14)
  hierarchical,  ///< rings within the nodes, across them, and within them again (3.13)
  nccl,          ///< what NCCL would choose, in the time that its own cost model says (3.9)
  quickest       ///< of rings over all ranks, rings in two levels and trees of nodes the quickest
                 ///< for each message, as libraries choose (1.14, 3.13, 3.5)
};
std::string_view all_reduce_rule_name(AllReduceRule rule);
AllReduceRule parse_all_reduce_rule(std::string_view name);  ///< throws ConfigError

}  // namespace dlscale
