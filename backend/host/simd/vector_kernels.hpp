#pragma once
#include <vector>

#include "backend/host/simd/kernels.hpp"

namespace dlscale::backend::simd {

/// Kernels that Highway compiled for one instruction set.
struct VectorKernels {
  ArrayKernels arrays;
  PeakKernel peak_f32;
  PeakKernel peak_f64;
};

/// Kernels for each instruction set of this processor that Highway supports, the narrowest first;
/// none in a build without Highway.
std::vector<VectorKernels> vector_kernels();

}  // namespace dlscale::backend::simd
