#pragma once
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Most threads per core. At this number the scheduler dominates the time; many more exhaust a
/// threading library or the machine.
inline constexpr int most_threads_of_a_core = 64;

/// Throws ConfigError if `threads`, given by `option`, exceed that limit on the cores that the
/// calling thread may use.
void expect_few_threads(std::string_view option, int threads);

/// Checks all numbers of threads in a benchmark's axes. Throws ConfigError, also for invalid
/// numbers.
void expect_few_threads(const Context& context);

}  // namespace dlscale::bench
