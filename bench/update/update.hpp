#pragma once
#include <cstddef>

#include "bench/engine/benchmark.hpp"
#include "bench/workbench/workbench.hpp"

namespace dlscale::bench {

/// Measures the SGD step over n parameters, after comparing its result with the formula in double.
/// With bf16 the step also writes bf16 weights. For CacheState::producer the previous step wrote
/// the gradients. Rotation adds the series "operand_sets".
Measurement measure_update(Workbench& workbench, std::size_t n, DType dtype, const Sampler& sampler,
                           CacheState cache = CacheState::cold);

}  // namespace dlscale::bench
