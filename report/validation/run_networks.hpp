#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::report {

/// The networks of training runs ("e2e") by name, as their configurations describe them now.
using Networks = std::map<std::string, std::shared_ptr<const Network>>;

/// Reads the networks of the training runs among the results, each from the source that the run
/// used. If several share a name, the first that still matches a run's network counts, else the
/// first. Networks that can no longer be read are missing.
Networks read_networks(std::span<const ResultFile> results);

/// Why a run cannot be compared with a prediction for the network of its name, or "". Either the
/// network can no longer be read, or it differs from the trained one. Runs of older files, which do
/// not record their network, count as matching.
std::string network_objection(const Networks& networks, const ResultFile& file,
                              const Measurement& run);

/// Differences between the training runs ("e2e") among the results and the data that the machine
/// was fitted to. Compares processor, host, links between hosts, compute backend and library
/// versions. One sentence for each difference, with its files; one more if the machine does not
/// record its fit. Ignores libraries that only one side names. Empty for a machine that was not
/// fitted.
std::vector<std::string> machine_differences(const model::Machine& machine,
                                             std::span<const ResultFile> results);

}  // namespace dlscale::report
