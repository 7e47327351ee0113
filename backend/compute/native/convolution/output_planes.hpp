#pragma once
#include <cstdint>

#include "core/network/convolution_shape.hpp"

/// Second passes over the outputs of a convolution, N × K × P × Q in f32: bias and ReLU, by
/// `threads` of OpenMP. The result is the same for any number of them.
namespace dlscale::backend::native_device {

/// y[n, k, :] += b[k]
void add_bias(const ConvolutionShape& shape, const float* bias, float* y, int threads);

/// y[n, k, :] = max(y[n, k, :] + b[k], 0), without a bias if it is null.
void add_bias_and_rectify(const ConvolutionShape& shape, const float* bias, float* y, int threads);

/// Sets dy to 0 where y is not positive.
void mask_gradient(const ConvolutionShape& shape, const float* y, float* dy, int threads);

/// db[k] = Σ dy[:, k, :]. Each plane is added in 16 sums in f32, the rest in double.
void sum_bias(const ConvolutionShape& shape, const float* dy, float* gradient, int threads);

}  // namespace dlscale::backend::native_device
