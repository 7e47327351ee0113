#include "backend/compute/onednn/arithmetic.hpp"

#include "backend/compute/bfloat16.hpp"

namespace dlscale::backend::onednn_device {

void add(std::size_t n, const float* value, float* into) {
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) into[i] += value[i];
}

void add_bfloat16(std::size_t n, const std::uint16_t* value, std::uint16_t* into) {
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) {
    into[i] = to_bfloat16(from_bfloat16(into[i]) + from_bfloat16(value[i]));
  }
}

void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
            float* momentum, std::uint16_t* low) {
  const SgdStep by = step;  // a copy, which no store through the pointers can change
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradients[i] * by.gradient_scale + by.weight_decay * weights[i];
    momentum[i] = by.momentum * momentum[i] + g;
    weights[i] -= by.rate * momentum[i];
  }
  if (low == nullptr) return;
#pragma omp parallel for simd
  for (std::size_t i = 0; i < n; ++i) low[i] = to_bfloat16(weights[i]);
}

}  // namespace dlscale::backend::onednn_device
