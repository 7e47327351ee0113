#pragma once
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// So many threads on one core would measure how the system takes turns; many more end a library
/// of threads, or the machine.
inline constexpr int most_threads_of_a_core = 64;

/// Throws ConfigError if `threads`, asked for by `option`, are more than so many on each core that
/// the calling thread may use.
void expect_few_threads(std::string_view option, int threads);

/// That of all numbers of threads that the axes of a benchmark may name. Throws ConfigError, also
/// for what is no number.
void expect_few_threads(const Context& context);

}  // namespace dlscale::bench
