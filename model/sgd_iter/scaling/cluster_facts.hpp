#pragma once
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The facts that the model of scaling (model/published/scaling) needs of a cluster, from its data
/// sheets: links, cards, memory, year of the device, traits of the framework. `given` is one
/// device, `asked` the placement. The network is a single tensor of 1 GB, and the batch is 1.
/// Links between nodes have the rate that the switches above them leave (taper()). PCI Express
/// stands for links within a node that are not stated.
/// Throws ConfigError where the cluster gives a link between the ranks no bandwidth.
scaling::TrainingFacts cluster_facts(const Machine& machine, const Placement& placement);

/// The facts of a run of a network with `parameters` > 0 that takes `alone` > 0 on one device.
scaling::TrainingFacts run_facts(const Machine& machine, const Run& run, double parameters,
                                 bool over_sequences, Seconds alone);

}  // namespace dlscale::model
