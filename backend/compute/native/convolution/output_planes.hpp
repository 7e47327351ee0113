#pragma once
#include <cstdint>

#include "core/network/convolution_shape.hpp"

/// What goes over the outputs of a convolution once more, N × K × P × Q in f32: bias and ReLU, by
/// `threads` of OpenMP, with the same result for any number of them.
namespace dlscale::backend::native_device {

/// y[n, k, :] += b[k]
void add_bias(const ConvolutionShape& shape, const float* bias, float* y, int threads);

/// y[n, k, :] = max(y[n, k, :] + b[k], 0), without a bias if that is null.
void add_bias_and_rectify(const ConvolutionShape& shape, const float* bias, float* y, int threads);

/// dy = 0 where y is not positive.
void mask_gradient(const ConvolutionShape& shape, const float* y, float* dy, int threads);

/// db[k] = Σ dy[:, k, :]. Of a plane in 16 sums in f32, the rest in double.
void sum_bias(const ConvolutionShape& shape, const float* dy, float* gradient, int threads);

}  // namespace dlscale::backend::native_device
