#pragma once
#include <cstdint>
#include <type_traits>

#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// SgdStep on `width` parameters a thread. `Low` is the type of the second copy of the weights.
template <class Low, int width>
struct SgdUpdate {
  SgdStep step;
  std::uint64_t n;
  float* weights;
  const float* gradients;
  float* momentum;
  Low* low;  ///< may be null

  [[nodiscard]] std::int64_t threads() const {
    return static_cast<std::int64_t>((n + width - 1) / width);
  }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const std::uint64_t first = std::uint64_t{thread} * width;
    if (first + width <= n) return change<width>(first);
    for (std::uint64_t i = first; i < n; ++i) change<1>(i);
  }

 private:
  template <int count>
  DLSCALE_HOST_DEVICE void change(std::uint64_t at) const {
    Pack<float, count> w = load<count>(weights + at);
    Pack<float, count> v = load<count>(momentum + at);
    const Pack<float, count> g = load<count>(gradients + at);
    Pack<Low, count> lower;
    DLSCALE_UNROLL
    for (int i = 0; i < count; ++i) {
      const float gradient = g.values[i] * step.gradient_scale + step.weight_decay * w.values[i];
      v.values[i] = step.momentum * v.values[i] + gradient;
      w.values[i] -= step.rate * v.values[i];
      lower.values[i] = from_float<Low>(w.values[i]);
    }
    store(v, momentum + at);
    store(w, weights + at);
    if (low != nullptr) store(lower, low + at);
  }
};

template <class Launcher>
void launch_update(const Launcher& launcher, const SgdStep& step, std::size_t n, float* weights,
                   const float* gradients, float* momentum, std::uint16_t* low, DType low_dtype) {
  EXPECT(low_dtype == DType::bf16 || low_dtype == DType::f16);
  const auto launch = [&]<class Low>(Low) {
    with_width<float>(0, {weights, gradients, momentum, low},
                      [&]<int width>(std::integral_constant<int, width>) {
                        const SgdUpdate<Low, width> code{
                            step, n, weights, gradients, momentum, reinterpret_cast<Low*>(low)};
                        launcher.each("update", code, code.threads());
                      });
  };
  if (low_dtype == DType::bf16) {
    launch(Bfloat16{});
  } else {
    launch(Half{});
  }
}

/// Reads and writes memory in units of 8 bytes, and the last few bytes one by one. Volatile, or the
/// compiler would remove it.
struct Touch {
  static constexpr std::uint64_t words_of_thread = 8;
  static constexpr std::uint64_t words_of_team = team_size * words_of_thread;

  std::byte* data;
  std::uint64_t bytes;

  [[nodiscard]] std::int64_t threads() const {
    return static_cast<std::int64_t>((bytes / sizeof(std::uint64_t) + words_of_team) /
                                     words_of_team * team_size);
  }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    auto* words = reinterpret_cast<volatile std::uint64_t*>(data);
    const std::uint64_t count = bytes / sizeof(std::uint64_t);
    const std::uint64_t first =
        std::uint64_t{thread} / team_size * words_of_team + thread % team_size;
    std::uint64_t held[words_of_thread];
    DLSCALE_UNROLL
    for (std::uint64_t i = 0; i < words_of_thread; ++i) {
      if (first + i * team_size < count) held[i] = words[first + i * team_size];
    }
    DLSCALE_UNROLL
    for (std::uint64_t i = 0; i < words_of_thread; ++i) {
      if (first + i * team_size < count) words[first + i * team_size] = held[i];
    }
    if (thread != 0) return;
    for (std::uint64_t i = count * sizeof(std::uint64_t); i < bytes; ++i) {
      auto* last = reinterpret_cast<volatile unsigned char*>(data + i);
      *last = *last;
    }
  }
};

}  // namespace dlscale::backend::cuda
