#include "backend/compute/onednn/arithmetic.hpp"

#include <algorithm>

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

namespace {

/// Adds two terms, nearly always the case, in a loop that the compiler can vectorise.
template <class Element, class Widen, class Narrow>
void add_and_rectify(std::size_t n, std::span<std::byte* const> terms, std::byte* into, Widen widen,
                     Narrow narrow) {
  const auto* a = reinterpret_cast<const Element*>(terms[0]);
  const auto* b = reinterpret_cast<const Element*>(terms[1]);
  auto* sum = reinterpret_cast<Element*>(into);
  if (terms.size() == 2) {
#pragma omp parallel for simd
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] = narrow(std::max(widen(a[i]) + widen(b[i]), 0.0F));
    }
    return;
  }
#pragma omp parallel for
  for (std::size_t i = 0; i < n; ++i) {
    float total = 0;
    for (const std::byte* term : terms) total += widen(reinterpret_cast<const Element*>(term)[i]);
    sum[i] = narrow(std::max(total, 0.0F));
  }
}

}  // namespace

void add_and_rectify(std::size_t n, std::span<std::byte* const> terms, std::byte* into) {
  const auto same = [](float value) { return value; };
  add_and_rectify<float>(n, terms, into, same, same);
}

void add_and_rectify_bfloat16(std::size_t n, std::span<std::byte* const> terms, std::byte* into) {
  add_and_rectify<std::uint16_t>(n, terms, into, from_bfloat16, to_bfloat16);
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
