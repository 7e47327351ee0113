#pragma once
#include <vector>

#include "backend/host/simd/kernels.hpp"

namespace dlscale::backend::simd {

/// What Highway compiled for one instruction set.
struct VectorKernels {
  ArrayKernels arrays;
  PeakKernel peak_f32;
  PeakKernel peak_f64;
};

/// For each instruction set that this processor has and Highway serves, the narrowest first; none
/// where this was built without Highway.
std::vector<VectorKernels> vector_kernels();

}  // namespace dlscale::backend::simd
