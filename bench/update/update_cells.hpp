#pragma once
#include <cstddef>

#include "bench/conv/workbench.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Measures the SGD step over n parameters after its answer was compared with the formula computed
/// in double. bf16: the step also writes the weights in bf16. The step before wrote the gradients:
/// CacheState::producer. In rotation there is a series "operand_sets" beside the time.
Measurement measure_update(Workbench& workbench, std::size_t n, DType dtype, const Sampler& sampler,
                           CacheState cache = CacheState::cold);

}  // namespace dlscale::bench
