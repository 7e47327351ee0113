#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {
namespace {

/// Values of an absent term: a negligible time or share, and a rate that limits nothing.
constexpr double none = 1e-12;
constexpr double unlimited = 1e6;

/// A prior "of the study" was set by a study of published trainings while their errors were
/// visible. It is a judgement, not a measurement.
constexpr std::array<ParameterKind, parameter_count> kinds = {{
    {"pcie_efficiency",
     "share of 15.75 GB/s, the rate of PCIe 3.0 x16, at which a ring passes gradients through a "
     "node's PCIe; prior: near the 6.1 GB/s of four GPUs",
     "1", 0.36, 0.30, 1},
    {"pcie_growth",
     "power of its nominal rate by which PCIe is faster: below 1, for shared root ports and copies "
     "through the host do not get faster with it; prior of the study",
     "1", 0.55, 0.20, 1},
    {"nvlink_efficiency",
     "share of the nominal rate of the NVLinks in use at which gradients pass; prior: a library "
     "takes 20 of 25 GB/s of a link (NCCL, src/graph/topo.h), less what its protocol and copies "
     "take",
     "1", 0.65, 0.20, 1},
    {"line_efficiency",
     "share of the line rate that a network delivers, by TCP or by RDMA, where nothing in the node "
     "is slower; prior: what headers leave of frames of 1500 bytes",
     "1", 0.95, 0.06, 1},
    {"card_efficiency",
     "share of the nominal rate of its slot at which a card of the network takes gradients from "
     "and to the GPUs; prior: between a node's PCIe that several GPUs share (0.4) and what one "
     "link of NVLink gives (0.8)",
     "1", 0.60, 0.25, unlimited},
    {"server_efficiency",
     "share of PCIe's and of the network's rate with which parameter servers and copies through "
     "host memory work: what a node pushes and pulls once; prior of the study",
     "1", 0.70, 0.20, 1},
    {"socket_rate",
     "rate at which the few sockets of a node carry gradients over TCP, where its link is faster; "
     "prior: 24 Gb/s",
     "B/s", 3e9, 0.30, 1e12},
    {"negotiation",
     "time in which the hosts agree on one message: a gather and a broadcast over all; "
     "prior of the study",
     "s", 3e-4, 0.50, none},
    {"rdma_latency",
     "start of a message between nodes by RDMA; prior: 14 us in the library and the card's own",
     "s", 22e-6, 0.40, none},
    {"tcp_latency", "start of a message between nodes by TCP; prior of the study", "s", 80e-6, 0.50,
     none},
    {"local_latency", "start of a message between GPUs of a node; prior: 0.6 to 5.7 us by protocol",
     "s", 3e-6, 0.50, none},
    {"interference",
     "share of the time of hidden messages that computing loses to them: they take processors and "
     "memory of the GPU; prior of the study",
     "1", 0.30, 0.50, none},
    {"jitter",
     "standard deviation, over its time, of what a worker computes, on GPUs of 2017 and before; "
     "prior: a steady machine's",
     "1", 0.015, 0.70, none},
    {"jitter_decline",
     "share of the jitter that GPUs lose with each year after 2017; prior of the study", "1", 0.16,
     0.30, none},
    {"jitter_of_nodes",
     "time that each doubling of the nodes adds, whatever is computed; prior of the study", "s",
     3e-4, 0.60, none},
    {"uneven_jitter",
     "standard deviation, over its time, of computing samples of unequal length or size; prior of "
     "the study",
     "1", 0.03, 0.60, none},
    {"launch",
     "time of an iteration that no smaller batch lessens: kernels are launched as fast as the host "
     "can; prior of the study",
     "s", 4e-3, 0.50, none},
    {"launch_of_graphs", "share of that where recorded graphs are launched; prior of the study",
     "1", 0.5, 0.40, 1},
    {"eager_launch", "more of that where an interpreter launches each kernel; prior of the study",
     "s", 1e-2, 0.50, none},
    {"update_passes",
     "passes of the update over 4 bytes of each parameter; prior: reads of weight, gradient and "
     "momentum, writes of weight, momentum and cleared gradient",
     "1", 6, 0.50, none},
    {"copy_passes",
     "passes over the gradients, while nothing is computed, to pack, scale and unpack them; "
     "prior: a read and a write of each",
     "1", 6, 0.60, none},
    {"no_overlap_share",
     "how likely it is that nothing overlaps where that is not told; prior of the study", "1", 0.4,
     0.30, none},
    {"scheduling",
     "time that a scheduler above a coordinator takes for each tensor; prior of the study", "s",
     4e-4, 0.50, none},
}};

}  // namespace

std::span<const ParameterKind, parameter_count> parameter_kinds() {
  return kinds;
}

Parameters Parameters::prior() {
  return prior_of(Terms().set());
}

Parameters Parameters::prior_of(const Terms& terms) {
  Parameters parameters;
  for (std::size_t i = 0; i < parameter_count; ++i) {
    parameters.values[i] = terms[i] ? kinds[i].median : kinds[i].absent;
  }
  return parameters;
}

}  // namespace dlscale::model::scaling
