#pragma once
#include <cstddef>
#include <string>

#include "backend/host/simd/kernels.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Both functions run on all ranks at once, with `threads` threads per rank, each on its own core.

/// Multiply-adds in registers, 65536 rounds per pass. A sample is the mean over passes_for()
/// passes. Checks the results of a few rounds first, and those of every pass.
Measurement measure_peak(const backend::simd::PeakKernel& kernel, int threads,
                         const Sampler& sampler);

/// Arithmetic between load and store of every element of an array, repeated, as in the Empirical
/// Roofline Tool [Lo et al. 2014].
struct IntensitySpec {
  std::string isa;
  std::string dtype;      ///< "f32" or "f64"
  std::size_t bytes = 0;  ///< size of the array; a positive multiple of 64
  double intensity = 0;   ///< operations per byte loaded or stored
};

/// Checks every element first. The status is `unsupported` if the processor lacks the instructions,
/// or if the intensity gives less than one operation per element.
Measurement measure_intensity(const IntensitySpec& spec, int threads, const Sampler& sampler);

}  // namespace dlscale::bench
