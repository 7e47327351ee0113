#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The launch time of a graph, from the rows of bench device --operations launch_graph of a
/// backend. The times of graphs of n empty kernels, on the host and on the device, are fitted as
///   T(n) = start + n · per_kernel
/// with start, per_kernel ≥ 0 by least squares on relative error (fit_affine()). Empty if fewer
/// than two numbers of kernels were measured. Wrong where kernels of a graph do not follow one
/// another, which the driver prepares in another way.
std::optional<GraphLaunch> fit_graph_launch(std::span<const ResultFile> results,
                                            const std::string& backend);

/// Whether graph launches are fitted to that row of bench device.
bool is_of_graphs(const Measurement& row);

}  // namespace dlscale::model
