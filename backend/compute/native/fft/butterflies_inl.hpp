// Transforms of L complex points in every SIMD lane. The file is included once for every
// instruction set (see hwy/foreach_target.h), hence a toggling guard in place of #pragma once.
#if defined(DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_BUTTERFLIES) == defined(HWY_TARGET_TOGGLE)
#ifdef DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_BUTTERFLIES
#undef DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_BUTTERFLIES
#else
#define DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_BUTTERFLIES
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "backend/compute/native/fft/stages.hpp"

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::native_device::spectral::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// At most a cache line: wider vectors would only enlarge the batch.
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

/// Complex points that are `stride` elements apart, each one vector of re and one of im.
template <class Float>
struct Line {
  Float* re;
  Float* im;
  std::int64_t stride;
};

struct Complex {
  Vector re;
  Vector im;
};

HWY_INLINE Complex add(Complex a, Complex b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}

HWY_INLINE Complex subtract(Complex a, Complex b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}

HWY_INLINE Complex times_minus_i(Complex a) {
  return {a.im, hn::Neg(a.re)};
}

/// a · (w[0] + i w[1])
HWY_INLINE Complex times(Complex a, const float* w) {
  const Floats d;
  const Vector re = hn::Set(d, w[0]);
  const Vector im = hn::Set(d, w[1]);
  return {hn::NegMulAdd(a.im, im, hn::Mul(a.re, re)), hn::MulAdd(a.re, im, hn::Mul(a.im, re))};
}

/// a · exp(-πi/4)
HWY_INLINE Complex times_eighth(Complex a) {
  const Vector half_root = hn::Set(Floats(), std::numbers::sqrt2_v<float> / 2);
  return {hn::Mul(half_root, hn::Add(a.re, a.im)), hn::Mul(half_root, hn::Sub(a.im, a.re))};
}

/// Replaces the four points by their transform, in order.
HWY_INLINE void butterfly(Complex& a0, Complex& a1, Complex& a2, Complex& a3) {
  const Complex even_sum = add(a0, a2);
  const Complex even_difference = subtract(a0, a2);
  const Complex odd_sum = add(a1, a3);
  const Complex odd_difference = times_minus_i(subtract(a1, a3));
  a0 = add(even_sum, odd_sum);
  a1 = add(even_difference, odd_difference);
  a2 = subtract(even_sum, odd_sum);
  a3 = subtract(even_difference, odd_difference);
}

HWY_INLINE void butterfly(Complex (&a)[4]) {
  butterfly(a[0], a[1], a[2], a[3]);
}

HWY_INLINE void butterfly(Complex (&a)[8]) {
  butterfly(a[0], a[2], a[4], a[6]);
  butterfly(a[1], a[3], a[5], a[7]);
  const Complex even[] = {a[0], a[2], a[4], a[6]};
  const Complex odd[] = {a[1], times_eighth(a[3]), times_minus_i(a[5]),
                         times_minus_i(times_eighth(a[7]))};
  a[0] = add(even[0], odd[0]);
  a[1] = add(even[1], odd[1]);
  a[2] = add(even[2], odd[2]);
  a[3] = add(even[3], odd[3]);
  a[4] = subtract(even[0], odd[0]);
  a[5] = subtract(even[1], odd[1]);
  a[6] = subtract(even[2], odd[2]);
  a[7] = subtract(even[3], odd[3]);
}

HWY_INLINE Complex load(Line<const float> line, std::int64_t k) {
  const Floats d;
  return {hn::LoadU(d, line.re + k * line.stride), hn::LoadU(d, line.im + k * line.stride)};
}

/// past_cache: for data that is not read again soon, where a vector is a whole cache line.
enum class Store { cached, past_cache };

template <Store how = Store::cached>
HWY_INLINE void store(Complex a, Line<float> line, std::int64_t k) {
  const Floats d;
  if constexpr (how == Store::past_cache) {
    hn::Stream(a.re, d, line.re + k * line.stride);
    hn::Stream(a.im, d, line.im + k * line.stride);
  } else {
    hn::StoreU(a.re, d, line.re + k * line.stride);
    hn::StoreU(a.im, d, line.im + k * line.stride);
  }
}

/// Does one set of `radix` transforms of a stage. All indices of `a` are constants; otherwise it
/// would be in memory.
template <Store how, std::size_t... k>
HWY_INLINE void run_butterfly(const Stage& stage, std::int64_t p, std::int64_t q,
                              Line<const float> x, Line<float> y, std::index_sequence<k...>) {
  constexpr std::int64_t radix = sizeof...(k);
  const std::int64_t m = stage.n / radix;
  Complex a[] = {load(x, q + stage.s * (p + static_cast<std::int64_t>(k) * m))...};
  butterfly(a);
  if (p > 0) {  // otherwise all twiddles are 1
    const float* w = stage.twiddles.data() + 2 * p * (radix - 1);
    ((a[k] = k > 0 ? times(a[k], w + 2 * (k - (k > 0))) : a[k]), ...);
  }
  (store<how>(a[k], y, q + stage.s * (radix * p + static_cast<std::int64_t>(k))), ...);
}

template <std::int64_t radix, Store how>
HWY_INLINE void run_stage_of(const Stage& stage, Line<const float> x, Line<float> y) {
  constexpr auto points = std::make_index_sequence<static_cast<std::size_t>(radix)>();
  for (std::int64_t p = 0; p < stage.n / radix; ++p) {
    for (std::int64_t q = 0; q < stage.s; ++q) run_butterfly<how>(stage, p, q, x, y, points);
  }
}

template <Store how>
HWY_INLINE void run_stage(const Stage& stage, Line<const float> x, Line<float> y) {
  if (stage.radix == 8) {
    run_stage_of<8, how>(stage, x, y);
  } else {
    run_stage_of<4, how>(stage, x, y);
  }
}

/// y[k] = Σ_j x[j] exp(-2πi jk/L). Exchanging re and im of both x and y gives the inverse times L.
/// `spare`: two lines for intermediate results between the stages.
template <Store how = Store::cached>
HWY_INLINE void transform_line(std::span<const Stage> stages, Line<const float> x, Line<float> y,
                               const Line<float> (&spare)[2]) {
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    run_stage<Store::cached>(stages[i], x, spare[i % 2]);
    x = {spare[i % 2].re, spare[i % 2].im, spare[i % 2].stride};
  }
  run_stage<how>(stages.back(), x, y);
}

}  // namespace dlscale::backend::native_device::spectral::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
