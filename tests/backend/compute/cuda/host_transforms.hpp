#pragma once
#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"

/// What libraries do for convolutions by transforms, by plain loops on the host.
namespace dlscale::backend::cuda::transforms {

/// Sums in double, rounded once to f32; factors are rounded to tf32 where a library may. Checks
/// that the addresses are aligned as the problem says.
MakeProduct products_on_host();

/// By the definition, in double, rounded once to f32.
MakeFourier fourier_on_host();

}  // namespace dlscale::backend::cuda::transforms
