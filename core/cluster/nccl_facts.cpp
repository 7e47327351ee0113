#include "core/cluster/nccl_facts.hpp"

#include <array>

#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr std::array all_gpus{NcclFacts::Gpu::volta, NcclFacts::Gpu::ampere, NcclFacts::Gpu::hopper,
                              NcclFacts::Gpu::blackwell};
constexpr std::array all_fabrics{NcclFacts::Fabric::pcie, NcclFacts::Fabric::nvlink,
                                 NcclFacts::Fabric::nvswitch};
constexpr std::array all_processors{NcclFacts::Processor::intel, NcclFacts::Processor::amd,
                                    NcclFacts::Processor::other};
constexpr std::array all_rules{AllReduceRule::ring, AllReduceRule::hierarchical,
                               AllReduceRule::nccl, AllReduceRule::quickest};

}  // namespace

std::string_view nccl_gpu_name(NcclFacts::Gpu value) {
  switch (value) {
    case NcclFacts::Gpu::volta:
      return "volta";
    case NcclFacts::Gpu::ampere:
      return "ampere";
    case NcclFacts::Gpu::hopper:
      return "hopper";
    case NcclFacts::Gpu::blackwell:
      return "blackwell";
  }
  fail_expectation("a known generation of GPUs");
}

NcclFacts::Gpu parse_nccl_gpu(std::string_view name) {
  return parse_word("generation of GPUs", name, all_gpus, nccl_gpu_name);
}

std::string_view nccl_fabric_name(NcclFacts::Fabric value) {
  switch (value) {
    case NcclFacts::Fabric::pcie:
      return "pcie";
    case NcclFacts::Fabric::nvlink:
      return "nvlink";
    case NcclFacts::Fabric::nvswitch:
      return "nvswitch";
  }
  fail_expectation("a known fabric between GPUs");
}

NcclFacts::Fabric parse_nccl_fabric(std::string_view name) {
  return parse_word("fabric between GPUs", name, all_fabrics, nccl_fabric_name);
}

std::string_view nccl_processor_name(NcclFacts::Processor value) {
  switch (value) {
    case NcclFacts::Processor::intel:
      return "intel";
    case NcclFacts::Processor::amd:
      return "amd";
    case NcclFacts::Processor::other:
      return "other";
  }
  fail_expectation("a known maker of processors");
}

NcclFacts::Processor parse_nccl_processor(std::string_view name) {
  return parse_word("maker of processors", name, all_processors, nccl_processor_name);
}

std::string_view all_reduce_rule_name(AllReduceRule value) {
  switch (value) {
    case AllReduceRule::ring:
      return "ring";
    case AllReduceRule::hierarchical:
      return "hierarchical";
    case AllReduceRule::nccl:
      return "nccl";
    case AllReduceRule::quickest:
      return "quickest";
  }
  fail_expectation("a known rule for all-reduce");
}

AllReduceRule parse_all_reduce_rule(std::string_view name) {
  return parse_word("rule for all-reduce", name, all_rules, all_reduce_rule_name);
}

}  // namespace dlscale
