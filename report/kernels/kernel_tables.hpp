#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/roofline/kernels/kernel_model.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/table/field_table.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Kernel and algorithm of a row: "backend", "algorithm", "pass", "kernel", "batch", "threads" and
/// "cache". The table for people omits threads and caches, and joins backend and algorithm.
Fields<model::KernelCase> kernel_fields();

/// "predicted_s", "low_s", "high_s" and "naive_s" of records; people see the first in ms.
Fields<model::KernelPrediction> predicted_fields();

/// The sizes outside the fitted range, joined by `separator`.
std::string beyond_text(const model::KernelPrediction& prediction, const char* separator);

/// {"backend": …, "algorithm": …, "pass": …, "threads": …, "cache": …}
Json way_object(const model::Way& way);

/// A predicted time, its interval and its stages; the stages and "start_and_tensors_s" add up to
/// it.
Json kernel_prediction_object(const model::KernelPrediction& prediction);

/// Measured convolutions under the measured ceilings. With `data_sheet_peak` also the share of it
/// that they execute. `unbounded`: number of others that no ceiling bounds (model::is_bounded).
/// JSON: {"schema": "dlscale.roofline", "version": 1, …}.
Document placed_kernels_document(const model::HierarchicalRoofline& roofline,
                                 std::span<const model::PlacedKernel> kernels,
                                 std::optional<FlopsPerSecond> data_sheet_peak, int unbounded);

/// The first tables of that document: limits of memory and arithmetic. Requires at least one kernel
/// under the roofline.
std::vector<Table> ceiling_tables(const model::HierarchicalRoofline& roofline,
                                  std::span<const model::PlacedKernel> kernels);

}  // namespace dlscale::report
