#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// What giving a graph takes, from the rows of bench device --operations launch_graph of a backend:
/// the times of graphs of n empty kernels, on the host and on the device, are fitted as
///   T(n) = start + n · per_kernel
/// with start, per_kernel ≥ 0 by least squares on relative error (fit_affine()). Nothing where
/// fewer than two numbers of kernels were measured. Wrong where kernels of a graph do not follow
/// one another, which the driver prepares in another way.
std::optional<GraphLaunch> fit_graph_launch(std::span<const ResultFile> results,
                                            const std::string& backend);

/// Whether it takes a row of bench device.
bool is_of_graphs(const Measurement& row);

}  // namespace dlscale::model
