#pragma once
#include <optional>
#include <span>

#include "model/roofline/measured_roofline.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// Where measured convolutions stand under the measured ceilings, and with `data_sheet_peak` what
/// share of that they execute. JSON: {"schema": "dlscale.roofline", "version": 1, …}.
Document placed_document(const model::HierarchicalRoofline& roofline,
                         std::span<const model::PlacedKernel> kernels,
                         std::optional<FlopsPerSecond> data_sheet_peak);

}  // namespace dlscale::report
