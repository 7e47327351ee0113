#pragma once
#include <cstddef>

#include "bench/engine/benchmark.hpp"
#include "bench/memory/stream_operations.hpp"

namespace dlscale::bench {

/// Runs the operation on all ranks at once, with `threads` threads each on its own core, over
/// arrays of `bytes` bytes (a multiple of 64). Checks every element first. Work counts the bytes of
/// each array once, as STREAM does. If the processor reads a line before it writes it, series
/// "write_allocate" (B) has these extra bytes, once the arrays exceed the caches. A sample is the
/// mean over passes_for() passes.
Measurement measure_stream(const StreamOperation& operation, std::size_t bytes, int threads,
                           const Sampler& sampler);

}  // namespace dlscale::bench
