#pragma once
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Two samples of each cell after one to warm up, whatever they are: for tests that look at
/// everything but the times.
inline constexpr StoppingCriterion quick{.relative_half_width = 100,
                                         .min_samples = 2,
                                         .max_samples = 2,
                                         .max_time = Seconds(0),
                                         .min_warmup = Seconds(0),
                                         .min_warmups = 1};

}  // namespace dlscale::bench
