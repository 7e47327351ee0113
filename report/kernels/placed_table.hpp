#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Measured convolutions under the measured ceilings. With `data_sheet_peak` also the share of it
/// that they execute. `unbounded`: number of others that no ceiling bounds (model::is_bounded).
/// JSON: {"schema": "dlscale.roofline", "version": 1, …}.
Document placed_document(const model::HierarchicalRoofline& roofline,
                         std::span<const model::PlacedKernel> kernels,
                         std::optional<FlopsPerSecond> data_sheet_peak, int unbounded);

/// The first tables of that document: limits of memory and arithmetic. Requires at least one kernel
/// under the roofline.
std::vector<Table> ceiling_tables(const model::HierarchicalRoofline& roofline,
                                  std::span<const model::PlacedKernel> kernels);

}  // namespace dlscale::report
