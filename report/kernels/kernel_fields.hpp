#pragma once
#include <string>

#include "model/roofline/kernels/kernel_model.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// Which kernel a row is of, and by which algorithm: "backend", "algorithm", "pass", "kernel",
/// "batch", "threads" and "cache". People see no threads and caches, and the backend with the
/// algorithm.
Fields<model::KernelCase> kernel_fields();

/// "predicted_s", "low_s", "high_s" and "naive_s" of records; people see the first in ms.
Fields<model::KernelPrediction> predicted_fields();

/// The sizes outside of the range fitted, joined by `separator`.
std::string beyond_text(const model::KernelPrediction& prediction, const char* separator);

/// {"backend": …, "algorithm": …, "pass": …, "threads": …, "cache": …}
Json way_object(const model::Way& way);

/// A predicted time, its interval and its stages, which with "start_and_tensors_s" add up to it.
Json kernel_prediction_object(const model::KernelPrediction& prediction);

}  // namespace dlscale::report
