#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/network/network.hpp"
#include "core/results/measurement.hpp"

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

}  // namespace dlscale::report
