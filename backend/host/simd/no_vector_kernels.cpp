#include "backend/host/simd/vector_kernels.hpp"

namespace dlscale::backend::simd {

std::vector<VectorKernels> vector_kernels() {
  return {};
}

}  // namespace dlscale::backend::simd
