#pragma once
#include <cstddef>

#include "bench/benchmark.hpp"
#include "bench/conv/workbench.hpp"

namespace dlscale::bench {

/// Measures the SGD step over n parameters, from cold caches, after its answer was compared with
/// the formula computed in double. bf16: the step also writes the weights in bf16.
Measurement measure_update(Workbench& workbench, std::size_t n, DType dtype,
                           const Sampler& sampler);

}  // namespace dlscale::bench
