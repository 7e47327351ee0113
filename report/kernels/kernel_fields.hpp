#pragma once
#include <string>

#include "model/roofline/kernels/kernel_model.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"
#include "report/table/field_table.hpp"

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

}  // namespace dlscale::report
