#pragma once
#include <cstddef>
#include <cstdint>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Our own kernels that belong to no layer. All enqueue on `stream` and return.

/// Copies between orders and precisions (f32, tf32, bf16, f16); both tensors on the device, dims
/// agree.
void convert(cudaStream_t stream, const Tensor& from, const Tensor& to);
/// into[i] += value[i] in f32, rounded to the precision of the tensors.
void accumulate(cudaStream_t stream, const Tensor& value, const Tensor& into);
/// Updates all parameters in one launch, as ComputeDevice::update. `low_dtype` is bf16 or f16.
void update(cudaStream_t stream, const SgdStep& step, std::size_t n, float* weights,
            const float* gradients, float* momentum, std::uint16_t* low, DType low_dtype);
/// Rewrites memory with its own content.
void touch(cudaStream_t stream, std::byte* data, std::size_t bytes);
/// Keeps the stream busy for about `seconds`. Work enqueued meanwhile then starts together, not as
/// fast as the host can enqueue it.
void hold(cudaStream_t stream, Seconds seconds);

// Building blocks of layers, for operations that consist of several kernels. A bias has one f32 a
// channel. A tensor of vectors (N × C × 1 × 1) has its channels, in either order.

/// tensor += bias.
void add_bias(cudaStream_t stream, const float* bias, const Tensor& tensor);
/// tensor = max(tensor + bias, 0).
void add_bias_relu(cudaStream_t stream, const float* bias, const Tensor& tensor);
/// tensor = max(tensor, 0).
void rectify(cudaStream_t stream, const Tensor& tensor);
/// gradient[c] = Σ output_gradient over images and pixels, in f32 and always in the same order.
/// `scratch` has bias_gradient_scratch() bytes.
void bias_gradient(const Context& context, const Tensor& output_gradient, float* gradient,
                   std::byte* scratch);
std::size_t bias_gradient_scratch(const Context& context, const TensorDesc& output_gradient);
/// input_gradient = output_gradient where output > 0, else 0: the gradient in front of a ReLU,
/// after a sum or a bias. Possibly in place.
void relu_gradient(cudaStream_t stream, const Tensor& output, const Tensor& output_gradient,
                   const Tensor& input_gradient);
/// Normalises images as ComputeDevice::normalise, to a tensor of any order and precision.
void normalise_pictures(cudaStream_t stream, const std::byte* pictures,
                        const PictureStatistics& statistics, const Tensor& to);

}  // namespace dlscale::backend::cuda
