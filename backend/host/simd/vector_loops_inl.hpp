// Passes over arrays and chains of multiply-adds in vectors. Included once for every instruction
// set (see hwy/foreach_target.h), hence a guard that toggles instead of #pragma once.
#if defined(DLSCALE_BACKEND_HOST_SIMD_VECTOR_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef DLSCALE_BACKEND_HOST_SIMD_VECTOR_LOOPS
#undef DLSCALE_BACKEND_HOST_SIMD_VECTOR_LOOPS
#else
#define DLSCALE_BACKEND_HOST_SIMD_VECTOR_LOOPS
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backend/host/simd/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::simd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vector of at most one cache line.
template <class Float>
using Tag = hn::CappedTag<Float, 64 / sizeof(Float)>;
template <class Float>
using Vector = hn::Vec<Tag<Float>>;

template <Stores how>
HWY_INLINE void put(Vector<double> value, double* to) {
  if constexpr (how == Stores::streaming) {
    hn::Stream(value, Tag<double>(), to);
  } else {
    hn::Store(value, Tag<double>(), to);
  }
}

enum class Pass { copy, scale, add, triad, fill };

template <Pass pass>
HWY_INLINE Vector<double> result(const double* a, const double* b, std::size_t i) {
  const Tag<double> d;
  const auto factor = hn::Set(d, 3.0);
  if constexpr (pass == Pass::copy) return hn::Load(d, a + i);
  if constexpr (pass == Pass::scale) return hn::Mul(factor, hn::Load(d, a + i));
  if constexpr (pass == Pass::add) return hn::Add(hn::Load(d, a + i), hn::Load(d, b + i));
  if constexpr (pass == Pass::triad) {
    return hn::MulAdd(factor, hn::Load(d, b + i), hn::Load(d, a + i));
  }
  return factor;
}

template <Pass pass, Stores how>
double run_pass(std::size_t n, const double* a, const double* b, double* out) {
  const std::size_t lanes = hn::Lanes(Tag<double>());
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    put<how>(result<pass>(a, b, i), out + i);
    put<how>(result<pass>(a, b, i + lanes), out + i + lanes);
    put<how>(result<pass>(a, b, i + 2 * lanes), out + i + 2 * lanes);
    put<how>(result<pass>(a, b, i + 3 * lanes), out + i + 3 * lanes);
  }
  for (; i < n; i += lanes) put<how>(result<pass>(a, b, i), out + i);
  if constexpr (how == Stores::streaming) hwy::FlushStream();
  return 0;
}

double run_sum(std::size_t n, const double* a, const double* /*b*/, double* /*out*/) {
  constexpr int sums = 8;  // additions take several cycles each, loads half a one
  const Tag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  Vector<double> partial[sums];
  for (auto& each : partial) each = hn::Zero(d);
  std::size_t i = 0;
  for (; i + sums * lanes <= n; i += sums * lanes) {
    for (int s = 0; s < sums; ++s) {
      partial[s] = hn::Add(partial[s], hn::Load(d, a + i + static_cast<std::size_t>(s) * lanes));
    }
  }
  for (; i < n; i += lanes) partial[0] = hn::Add(partial[0], hn::Load(d, a + i));
  for (int s = 1; s < sums; ++s) partial[0] = hn::Add(partial[0], partial[s]);
  return hn::GetLane(hn::SumOfLanes(d, partial[0]));
}

template <Stores how>
constexpr ArrayLoops loops() {
  return {run_pass<Pass::copy, how>,
          run_pass<Pass::scale, how>,
          run_pass<Pass::add, how>,
          run_pass<Pass::triad, how>,
          run_sum,
          run_pass<Pass::fill, how>};
}

/// Number of independent vectors, which hides the latency: two multiply-adds a cycle of four or
/// five cycles each. They fit into 16 registers, with the constants.
constexpr int beside = 12;

template <class Float, int count>
HWY_INLINE void step(Vector<Float> (&x)[count], Vector<Float> b, Vector<Float> c) {
  for (int i = 0; i < count; ++i) x[i] = hn::MulAdd(x[i], b, c);
}

template <class Float, int count>
HWY_INLINE void intensity_block(int multiply_adds, bool addition, Float* x) {
  const Tag<Float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto b = hn::Set(d, IntensityStep<Float>::b);
  const auto c = hn::Set(d, IntensityStep<Float>::c);
  Vector<Float> v[count];
  for (int i = 0; i < count; ++i) v[i] = hn::Load(d, x + static_cast<std::size_t>(i) * lanes);
  for (int k = 0; k < multiply_adds; ++k) step<Float, count>(v, b, c);
  for (int i = 0; i < count; ++i) {
    if (addition) v[i] = hn::Add(v[i], c);
    hn::Store(v[i], d, x + static_cast<std::size_t>(i) * lanes);
  }
}

template <class Float>
void run_intensity(std::size_t n, int multiply_adds, bool addition, Float* x) {
  const std::size_t lanes = hn::Lanes(Tag<Float>());
  std::size_t i = 0;
  for (; i + beside * lanes <= n; i += beside * lanes) {
    intensity_block<Float, beside>(multiply_adds, addition, x + i);
  }
  for (; i < n; i += lanes) intensity_block<Float, 1>(multiply_adds, addition, x + i);
}

/// A round: y = x b + c, x = y / b + (d - c / b), so that x grows by d and all its bits change.
template <class Float>
struct Round {
  static constexpr Float b = Float(1.1);
  static constexpr Float c = Float(0.7);
  static constexpr Float d = Float(1) / 1024;
  static constexpr Float b_back = Float(1.0 / 1.1);
  static constexpr Float c_back = d - Float(0.7 / 1.1);
};

template <class Float>
double run_peak(std::int64_t rounds) {
  const Tag<Float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto b = hn::Set(d, Round<Float>::b);
  const auto c = hn::Set(d, Round<Float>::c);
  const auto b_back = hn::Set(d, Round<Float>::b_back);
  const auto c_back = hn::Set(d, Round<Float>::c_back);
  Vector<Float> x[beside];
  for (int i = 0; i < beside; ++i) x[i] = hn::Iota(d, Float(1 + i));
  for (std::int64_t round = 0; round < rounds; ++round) {
    step<Float, beside>(x, b, c);
    step<Float, beside>(x, b_back, c_back);
  }
  double error = 0;
  for (int i = 0; i < beside; ++i) {
    alignas(64) std::array<Float, 64 / sizeof(Float)> values;
    hn::Store(x[i], d, values.data());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const double expected = 1.0 + i + static_cast<double>(lane) +
                              static_cast<double>(rounds) * static_cast<double>(Round<Float>::d);
      const double relative = std::abs(static_cast<double>(values[lane]) - expected) / expected;
      error = relative <= error ? error : relative;  // NaN is kept
      if (!(relative >= 0)) return relative;
    }
  }
  return error;
}

template <class Float>
PeakKernel peak(std::string_view isa, std::string_view dtype, double epsilon) {
  const double lanes = static_cast<double>(hn::Lanes(Tag<Float>()));
  return {isa, dtype, 2.0 * 2.0 * beside * lanes, run_peak<Float>, 4 * epsilon};
}

}  // namespace dlscale::backend::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
