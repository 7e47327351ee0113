#pragma once
#include <cstddef>
#include <cstdint>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/context.hpp"

namespace dlscale::backend::cuda {

/// Our own kernels that belong to no layer. All enqueue on `stream` and return.

/// Copies between orders and precisions (f32, tf32, bf16, f16); both tensors on the device, dims
/// agree.
void convert(cudaStream_t stream, const Tensor& from, const Tensor& to);
/// into[i] += value[i] in f32, rounded to the precision of the tensors.
void accumulate(cudaStream_t stream, const Tensor& value, const Tensor& into);
/// As ComputeDevice::update, all parameters in one launch. `low_dtype` is bf16 or f16.
void update(cudaStream_t stream, const SgdStep& step, std::size_t n, float* weights,
            const float* gradients, float* momentum, std::uint16_t* low, DType low_dtype);
/// Rewrites memory with what it holds.
void touch(cudaStream_t stream, std::byte* data, std::size_t bytes);
/// Keeps the stream busy for about `seconds` and does nothing else, so that what is enqueued
/// meanwhile starts together, not as fast as the host can give it.
void hold(cudaStream_t stream, Seconds seconds);

}  // namespace dlscale::backend::cuda
