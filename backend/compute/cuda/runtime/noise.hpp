#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/run/run.hpp"

namespace dlscale::backend::cuda {

/// Number of elements after which the noise repeats: a prime number, so that rows and images of a
/// tensor differ.
constexpr std::size_t noise_period = 65'521;

/// noise_period numbers between -1/2 and 1/2 in the format of `dtype`, determined by `seed`. Sums
/// of the products of two such tensors stay below the largest number of f16.
std::vector<std::byte> noise(DType dtype, std::uint64_t seed);

/// Enqueues filling device memory with noise of `dtype`. Constant tensors would not reveal mixed-up
/// elements, nor the power that real ones cost and its effect on the clock.
void fill_with_noise(cudaStream_t stream, std::byte* memory, std::size_t bytes, DType dtype,
                     std::uint64_t seed);

/// A range of contiguous elements.
struct ElementRange {
  std::size_t first;
  std::size_t count;
};

/// Elements of a tensor that are sampled: all of a small tensor, otherwise 16 ranges of 4096.
/// The first begins it, the last ends it, and the others are equally spaced between.
std::vector<ElementRange> sampled_ranges(std::size_t elements);

/// Reads the sampled elements of a dense tensor on the device. Waits.
std::vector<float> sample(cudaStream_t stream, const std::byte* memory, std::size_t elements,
                          DType dtype);

}  // namespace dlscale::backend::cuda
