#include "backend/compute/cuda/runtime/noise.hpp"

#include <algorithm>
#include <cstring>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/precision.hpp"
#include "backend/compute/random_bits.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::size_t stretch_count = 16;
constexpr std::size_t stretch_elements = 4096;

void write(DType dtype, float value, std::byte* to) {
  if (element_bytes(dtype) == sizeof(float)) {
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  const std::uint16_t bits = dtype == DType::f16 ? to_half(value) : to_bfloat16(value);
  std::memcpy(to, &bits, sizeof(bits));
}

float read(DType dtype, const std::byte* from) {
  if (element_bytes(dtype) == sizeof(float)) {
    float value = 0;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof(bits));
  return dtype == DType::f16 ? from_half(bits) : from_bfloat16(bits);
}

void copy(cudaStream_t stream, const void* from, void* to, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync",
        "tensors to choose with");
}

}  // namespace

std::vector<std::byte> noise(DType dtype, std::uint64_t seed) {
  const std::size_t step = element_bytes(dtype);
  std::vector<std::byte> bytes(noise_period * step);
  for (std::size_t i = 0; i < noise_period; ++i) {
    const auto number = static_cast<float>(random_bits(seed, i) >> 40U) * 0x1p-24F;
    write(dtype, rounded(dtype, number - 0.5F), bytes.data() + i * step);
  }
  return bytes;
}

void fill_with_noise(cudaStream_t stream, std::byte* memory, std::size_t bytes, DType dtype,
                     std::uint64_t seed) {
  const std::vector<std::byte> once = noise(dtype, seed);
  std::size_t filled = std::min(bytes, once.size());
  copy(stream, once.data(), memory, filled);
  // A device that reads pageable host memory by itself may do so after this function returns.
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "tensors to choose with");
  while (filled < bytes) {  // a whole number of periods, so that the noise continues
    const std::size_t more = std::min(filled, bytes - filled);
    copy(stream, memory, memory + filled, more);
    filled += more;
  }
}

std::vector<ElementRange> sampled_ranges(std::size_t elements) {
  if (elements <= stretch_count * stretch_elements) return {{0, elements}};
  std::vector<ElementRange> all;
  for (std::size_t i = 0; i < stretch_count; ++i) {
    all.push_back({(elements - stretch_elements) / (stretch_count - 1) * i, stretch_elements});
  }
  all.back().first = elements - stretch_elements;
  return all;
}

std::vector<float> sample(cudaStream_t stream, const std::byte* memory, std::size_t elements,
                          DType dtype) {
  const std::size_t step = element_bytes(dtype);
  std::vector<std::byte> bytes;
  for (const ElementRange& each : sampled_ranges(elements)) {
    const std::size_t before = bytes.size();
    bytes.resize(before + each.count * step);
    copy(stream, memory + each.first * step, bytes.data() + before, each.count * step);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "tensors to choose with");
  }
  std::vector<float> values(bytes.size() / step);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = read(dtype, bytes.data() + i * step);
  return values;
}

}  // namespace dlscale::backend::cuda
