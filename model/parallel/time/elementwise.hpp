#pragma once
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/time/plan_sizes.hpp"
#include "model/parallel/time/products.hpp"

namespace dlscale::model::parallel_time {

/// Seconds of norms, residuals, copies, activations and casts of one layer, which memory bounds:
///   B T (norms h / r + copies (q + 2k + v) / 4t + (activation + gated) inner) elementwise / M
/// with B bytes an element and r ranks that share tokens. Experts add 4 B T / r · active h bytes
/// each way, to order tokens. Fewer bits add casts of T (2h + q / t + inner) elements, and 1.5
/// times that backward. [derived; counts of reads and writes by family]
PassTime elementwise_time(const DeviceRates& rates, const TimeConstants& constants,
                          const Family& family, const memory::TransformerShape& shape,
                          const PlanSizes& plan, const LayerSizes& sizes);

}  // namespace dlscale::model::parallel_time
