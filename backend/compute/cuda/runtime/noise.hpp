#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/run/run.hpp"

namespace dlscale::backend::cuda {

/// How many elements of noise there are before they come again: a prime number, so that rows and
/// images of a tensor differ.
constexpr std::size_t noise_period = 65'521;

/// Numbers between -1/2 and 1/2 as `dtype` has them in memory, noise_period of them, which `seed`
/// tells. Sums of the products of two such tensors stay below the largest number of f16.
std::vector<std::byte> noise(DType dtype, std::uint64_t seed);

/// Fills memory of the device with noise of `dtype`. Enqueues. Constant tensors would show neither
/// what mixes elements up nor the power that real ones cost, and with it the clock.
void fill_with_noise(cudaStream_t stream, std::byte* memory, std::size_t bytes, DType dtype,
                     std::uint64_t seed);

/// Elements that lie together.
struct Stretch {
  std::size_t first;
  std::size_t count;
};

/// Which elements of a tensor of so many are looked at: all of a small one, else 16 stretches of
/// 4096, of which one begins it, one ends it, and the others lie at equal distances between.
std::vector<Stretch> sampled_stretches(std::size_t elements);

/// These elements of a dense tensor on the device. Waits.
std::vector<float> sample(cudaStream_t stream, const std::byte* memory, std::size_t elements,
                          DType dtype);

}  // namespace dlscale::backend::cuda
