#include "model/scaling/parameters.hpp"

namespace dlscale::model::scaling {
namespace {

/// Where a prior is said to be "of the study", it was set by a study of published trainings while
/// their errors were looked at; it is a judgement and no measurement.
constexpr std::array<ParameterKind, parameter_count> kinds = {{
    {"pcie_efficiency",
     "share of 15.75 GB/s, the rate of PCIe 3.0 x16, at which a ring passes gradients through a "
     "node's PCIe; prior: near the 6.1 GB/s of four GPUs (MODEL 1.14)",
     "1", 0.36, 0.30},
    {"pcie_growth",
     "power of its nominal rate by which PCIe is faster: below 1, for shared root ports and copies "
     "through the host do not get faster with it; prior of the study",
     "1", 0.55, 0.20},
    {"nvlink_efficiency",
     "share of the nominal rate of the NVLinks in use at which gradients pass; prior: a library "
     "takes 20 of 25 GB/s of a link (MODEL 3.9), less what its protocol and copies take",
     "1", 0.65, 0.20},
    {"tcp_efficiency",
     "share of the line rate that TCP delivers; prior: what headers leave of frames of 1500 bytes, "
     "and 10 Gb Ethernet at line rate (MODEL 1.14)",
     "1", 0.95, 0.06},
    {"rdma_efficiency",
     "share of the line rate of a node's cards that reaches the GPUs; prior of the study: several "
     "GPUs share a card and its way through the host",
     "1", 0.65, 0.25},
    {"server_efficiency",
     "share of PCIe's and of the network's rate with which parameter servers and copies through "
     "host memory work; prior of the study",
     "1", 0.70, 0.20},
    {"negotiation",
     "time in which the hosts agree on one message (MODEL 2.2: a gather and a broadcast over all); "
     "prior of the study",
     "s", 3e-4, 0.50},
    {"rdma_latency",
     "start of a message between nodes by RDMA; prior: 14 us in the library and the card's own "
     "(MODEL 3.9)",
     "s", 22e-6, 0.40},
    {"tcp_latency", "start of a message between nodes by TCP; prior of the study", "s", 80e-6,
     0.50},
    {"local_latency",
     "start of a message between GPUs of a node; prior: 0.6 to 5.7 us by protocol (MODEL 3.9)", "s",
     3e-6, 0.50},
    {"interference",
     "share of the time of hidden messages that computing loses to them: they take processors and "
     "memory of the GPU; prior of the study",
     "1", 0.30, 0.50},
    {"jitter",
     "standard deviation, over its time, of what a worker computes, on GPUs of 2017 and before; "
     "prior: a steady machine's",
     "1", 0.015, 0.70},
    {"jitter_decline",
     "share of the jitter that GPUs lose with each year after 2017; prior of the study", "1", 0.16,
     0.30},
    {"jitter_of_nodes",
     "time that each doubling of the nodes adds, whatever is computed; prior of the study", "s",
     3e-4, 0.60},
    {"uneven_jitter",
     "standard deviation, over its time, of computing samples of unequal length or size; prior of "
     "the study",
     "1", 0.03, 0.60},
    {"launch",
     "time of an iteration that no smaller batch lessens: kernels are launched as fast as the host "
     "can; prior of the study",
     "s", 4e-3, 0.50},
    {"launch_of_graphs", "share of that where recorded graphs are launched; prior of the study",
     "1", 0.5, 0.40},
    {"eager_launch", "more of that where an interpreter launches each kernel; prior of the study",
     "s", 1e-2, 0.50},
    {"update_passes",
     "passes of the update over 4 bytes of each parameter; prior: reads of weight, gradient and "
     "momentum, writes of weight, momentum and cleared gradient",
     "1", 6, 0.50},
    {"copy_passes",
     "passes over the gradients, while nothing is computed, to pack, scale and unpack them; "
     "prior: a read and a write of each",
     "1", 6, 0.60},
    {"no_overlap_share",
     "how likely it is that nothing overlaps where that is not told; prior of the study", "1", 0.4,
     0.30},
    {"scheduling",
     "time that a scheduler above a coordinator takes for each tensor; prior of the study", "s",
     4e-4, 0.50},
}};

}  // namespace

std::span<const ParameterKind, parameter_count> parameter_kinds() {
  return kinds;
}

Parameters Parameters::prior() {
  Parameters parameters;
  for (std::size_t i = 0; i < parameter_count; ++i) parameters.values[i] = kinds[i].median;
  return parameters;
}

}  // namespace dlscale::model::scaling
