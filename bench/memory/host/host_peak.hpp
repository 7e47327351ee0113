#pragma once
#include <cstddef>
#include <string>

#include "backend/host/simd/kernels.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Both run on all ranks at once, `threads` threads of each, every one on a core of its own.

/// Multiply-adds in registers, 65536 rounds a pass. A sample is the mean of as many passes as
/// passes_for() says. Checks the results of a few rounds first, and those of every pass.
Measurement measure_peak(const backend::simd::PeakKernel& kernel, int threads,
                         const Sampler& sampler);

/// Arithmetic between a load and a store of every element of an array, over and over, as the
/// Empirical Roofline Tool does [Lo et al. 2014].
struct IntensitySpec {
  std::string isa;
  std::string dtype;      ///< "f32" or "f64"
  std::size_t bytes = 0;  ///< of the array; a positive multiple of 64
  double intensity = 0;   ///< operations for each byte that is loaded or stored
};

/// Every element is checked first. The status is `unsupported` where the processor has no such
/// instructions, and where an element would get less than a whole operation.
Measurement measure_intensity(const IntensitySpec& spec, int threads, const Sampler& sampler);

}  // namespace dlscale::bench
