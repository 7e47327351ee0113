#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Where measured convolutions stand under the measured ceilings, and with `data_sheet_peak` what
/// share of that they execute. `unbounded`: how many others no ceiling bounds (model::is_bounded).
/// JSON: {"schema": "dlscale.roofline", "version": 1, …}.
Document placed_document(const model::HierarchicalRoofline& roofline,
                         std::span<const model::PlacedKernel> kernels,
                         std::optional<FlopsPerSecond> data_sheet_peak, int unbounded);

/// Its first tables: what memory and arithmetic allow. `kernels` are those under the roofline, of
/// which there is at least one.
std::vector<Table> ceiling_tables(const model::HierarchicalRoofline& roofline,
                                  std::span<const model::PlacedKernel> kernels);

}  // namespace dlscale::report
