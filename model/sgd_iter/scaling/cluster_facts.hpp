#pragma once
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The devices of a placement, on as few nodes as hold them.
scaling::Layout layout_of(const Placement& placement);

/// The facts that the model of scaling (model/published/scaling) needs of a cluster, from its data
/// sheets: links, cards, memory, year of the device, traits of the framework. `given` is one
/// device, `asked` the placement. The network is a single tensor of 1 GB, and the batch is 1.
/// Links between nodes have the rate that the switches above them leave (taper()). PCI Express
/// stands for links within a node that are not stated.
/// Throws ConfigError where the cluster gives a link between the ranks no bandwidth.
scaling::TrainingFacts cluster_facts(const Machine& machine, const Placement& placement);

/// Whether parameter servers carry gradients by the law of data sheets (exchange_cost()): they are
/// called, or are a framework's own. Otherwise ranks of our own engine reduce and broadcast.
bool exchanges_by_servers(const Machine& machine, const Run& run);

/// Whether samples of a batch of the network differ in length or size, as sentences do.
bool has_uneven_samples(const Network& network);

/// The facts of a run of a network that takes `alone` > 0 on one device. Samples are read, not made
/// up. They are pictures of unknown decoding (slow_input()) where the cluster states none, since
/// the task graph has what it states.
scaling::TrainingFacts run_facts(const Machine& machine, const Run& run, const Network& network,
                                 Seconds alone);

}  // namespace dlscale::model
