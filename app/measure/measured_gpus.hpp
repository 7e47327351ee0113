#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/cluster/cluster.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::app {

/// The node with `workers` GPUs that produced the results, from their headers. The GPU has its
/// driver's name, with the peaks and memory of its data sheet (configs/devices) if there is one.
/// The host is named by its processor and cores, so the description is the same on every machine.
/// Links have no rates, since bench measured them. Nothing if the results of `backend` (empty: any)
/// name no GPU, so that the device is a processor.
std::optional<Cluster> measured_gpus(std::span<const ResultFile> files, const std::string& backend,
                                     int workers);

}  // namespace dlscale::app
