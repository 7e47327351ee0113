#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/cluster/cluster.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::app {

/// The node with `workers` GPUs that results were measured on, as their headers tell: the GPU by
/// its driver's name, with the peaks and the memory of its data sheet (configs/devices) if there is
/// one; the host by its processor and cores. So it is the same wherever it is asked for. Links have
/// no rates: they are what bench measured. Nothing if the results of `backend` (empty: any) name no
/// GPU, so that the device is a processor.
std::optional<Cluster> measured_gpus(std::span<const ResultFile> files, const std::string& backend,
                                     int workers);

}  // namespace dlscale::app
