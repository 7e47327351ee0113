#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// The result files of the named benchmarks among `paths` (files, or folders searched for *.jsonl).
std::vector<ResultFile> results_of(const std::vector<std::string>& paths,
                                   const std::vector<std::string_view>& benchmarks);

/// All result files among `paths`. A file that is named twice, also by a folder or a link, counts
/// once.
std::vector<ResultFile> all_results(const std::vector<std::string>& paths);

}  // namespace dlscale::app
