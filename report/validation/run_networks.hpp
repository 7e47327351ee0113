#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "core/network/network.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::report {

/// The networks of training runs ("e2e"), as their configurations describe them now, by name.
using Networks = std::map<std::string, std::shared_ptr<const Network>>;

/// Reads the networks of the training runs among the results, each from where the run read it. Of
/// several with one name counts the first that is still what a run of it trained, else the first.
/// Those that cannot be read any more are not among them.
Networks read_networks(std::span<const ResultFile> results);

/// Why a run of the file cannot be held against a prediction for the network of its name, or "":
/// that network cannot be read any more, or is another than the run trained. Of a run of an older
/// file, which does not say what it trained, it is taken to be the same.
std::string network_objection(const Networks& networks, const ResultFile& file,
                              const Measurement& run);

}  // namespace dlscale::report
