#pragma once
#include <cstddef>

#include "bench/engine/benchmark.hpp"
#include "bench/memory/stream_operations.hpp"

namespace dlscale::bench {

/// Runs the operation with `threads` threads, each on a core of its own, over arrays of `bytes`
/// bytes each, all ranks at once; `bytes` is a multiple of 64. Checks every element first. Bytes of
/// the work are those of the arrays, each once, as STREAM counts them. Where the processor reads a
/// line before it writes it, series "write_allocate" (B) has what it moves besides, once the arrays
/// are beyond the caches. A sample is the mean of as many passes as passes_for() says.
Measurement measure_stream(const StreamOperation& operation, std::size_t bytes, int threads,
                           const Sampler& sampler);

}  // namespace dlscale::bench
