// Arithmetic of the transforms on vectors, included once for each instruction set: no #pragma once.
#if defined(DLSCALE_WINOGRAD_TRANSFORM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DLSCALE_WINOGRAD_TRANSFORM_INL
#undef DLSCALE_WINOGRAD_TRANSFORM_INL
#else
#define DLSCALE_WINOGRAD_TRANSFORM_INL
#endif

#include <hwy/highway.h>

#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::native_device::winograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FullTag = hn::ScalableTag<float>;

template <class D, int n>
using Vectors = hn::Vec<D>[n];

/// Calls body(0), …, body(n - 1) with constants: an array of vectors stays in registers only if the
/// compiler sees every index.
template <int n, class Body>
HWY_INLINE void unrolled(const Body& body) {
  [&body]<int... i>(std::integer_sequence<int, i...>) HWY_ATTR {
    (body(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

/// Whether elements first, first + 2, … of a row of a matrix are all 0.
template <const auto& matrix>
constexpr bool vanishes(int row, int first) {
  for (std::size_t j = first; j < matrix[row].size(); j += 2) {
    if (matrix[row][j] != 0) return false;
  }
  return true;
}

/// Σ matrix[row][j] · x[j] over j = first, first + 2, …
template <const auto& matrix, int row, int first, class D, int n>
HWY_INLINE hn::Vec<D> dot(D d, const Vectors<D, n>& x) {
  if constexpr (vanishes<matrix>(row, first)) {
    return hn::Zero(d);
  } else {
    constexpr float c = matrix[row][first];
    if constexpr (c == 0) {
      return dot<matrix, row, first + 2, D, n>(d, x);
    } else if constexpr (vanishes<matrix>(row, first + 2)) {
      if constexpr (c == 1) return x[first];
      return hn::Mul(hn::Set(d, c), x[first]);
    } else {
      const auto rest = dot<matrix, row, first + 2, D, n>(d, x);
      if constexpr (c == 1) return hn::Add(x[first], rest);
      return hn::MulAdd(hn::Set(d, c), x[first], rest);
    }
  }
}

/// Whether rows 2i + 1 and 2i + 2 (points p and -p) differ only in the sign of their odd elements.
template <const auto& matrix>
constexpr bool comes_in_pairs() {
  for (std::size_t i = 1; i + 1 < matrix.size(); i += 2) {
    for (std::size_t j = 0; j < matrix[i].size(); ++j) {
      if (matrix[i][j] != (j % 2 == 0 ? 1 : -1) * matrix[i + 1][j]) return false;
    }
  }
  return true;
}

/// y = matrix · x for Bᵀ and G: alpha × n.
template <const auto& matrix, class D, int n, int alpha>
HWY_INLINE void expand(D d, const Vectors<D, n>& x, Vectors<D, alpha>& y) {
  static_assert(comes_in_pairs<matrix>());
  y[0] = dot<matrix, 0, 0, D, n>(d, x);
  unrolled<alpha / 2 - 1>([&](auto pair) HWY_ATTR {
    constexpr int row = 2 * pair + 1;
    const auto even = dot<matrix, row, 0, D, n>(d, x);
    const auto odd = dot<matrix, row, 1, D, n>(d, x);
    y[row] = hn::Add(even, odd);
    y[row + 1] = hn::Sub(even, odd);
  });
  y[alpha - 1] = dot<matrix, alpha - 1, (n - 1) % 2, D, n>(d, x);
}

/// y = matrix · x for Aᵀ: m × alpha. The columns of p and -p are equal in even rows and opposite in
/// odd rows, so only sums and differences of pairs of elements matter.
template <const auto& matrix, class D, int alpha, int m>
HWY_INLINE void contract(D d, const Vectors<D, alpha>& x, Vectors<D, m>& y) {
  Vectors<D, alpha> sums;
  Vectors<D, alpha> differences;
  unrolled<alpha / 2 - 1>([&](auto pair) HWY_ATTR {
    constexpr int column = 2 * pair + 1;
    sums[column] = hn::Add(x[column], x[column + 1]);
    differences[column] = hn::Sub(x[column], x[column + 1]);
  });
  sums[alpha - 1] = differences[alpha - 1] = x[alpha - 1];
  unrolled<m>([&](auto row) HWY_ATTR {
    y[row] = dot<matrix, row, 1, D, alpha>(d, row % 2 == 0 ? sums : differences);
  });
  y[0] = hn::Add(y[0], x[0]);
}

/// lanes of y[j] = from[j], from[step + j], from[2 step + j], …
template <int step, class D>
HWY_INLINE void deinterleave(D d, const float* HWY_RESTRICT from, Vectors<D, step>& y) {
  if constexpr (step == 2) {
    hn::LoadInterleaved2(d, from, y[0], y[1]);
  } else if constexpr (step == 4) {
    hn::LoadInterleaved4(d, from, y[0], y[1], y[2], y[3]);
  } else {
    static_assert(step == 6);
    const std::size_t lanes = hn::Lanes(d);
    alignas(64) float pairs[3][2 * hn::MaxLanes(d)];
    for (std::size_t at = 0; at < 2 * lanes; at += lanes) {
      Vectors<D, 3> x;
      hn::LoadInterleaved3(d, from + 3 * at, x[0], x[1], x[2]);
      unrolled<3>([&](auto j) HWY_ATTR { hn::Store(x[j], d, pairs[j] + at); });
    }
    unrolled<3>([&](auto j) HWY_ATTR { hn::LoadInterleaved2(d, pairs[j], y[j], y[j + 3]); });
  }
}

/// The reverse.
template <int step, class D>
HWY_INLINE void interleave(D d, const Vectors<D, step>& x, float* HWY_RESTRICT to) {
  if constexpr (step == 2) {
    hn::StoreInterleaved2(x[0], x[1], d, to);
  } else if constexpr (step == 4) {
    hn::StoreInterleaved4(x[0], x[1], x[2], x[3], d, to);
  } else {
    static_assert(step == 6);
    const std::size_t lanes = hn::Lanes(d);
    alignas(64) float pairs[3][2 * hn::MaxLanes(d)];
    unrolled<3>([&](auto j) HWY_ATTR { hn::StoreInterleaved2(x[j], x[j + 3], d, pairs[j]); });
    for (std::size_t at = 0; at < 2 * lanes; at += lanes) {
      hn::StoreInterleaved3(hn::Load(d, pairs[0] + at), hn::Load(d, pairs[1] + at),
                            hn::Load(d, pairs[2] + at), d, to + 3 * at);
    }
  }
}

/// Reads g[r][s] of one 3 × 3 filter per lane; the filters are consecutive in memory.
template <class D>
HWY_INLINE void load_filters(D d, const float* HWY_RESTRICT from, Vectors<D, 3> (&g)[3]) {
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) float taps[3][3 * hn::MaxLanes(d)];  // [s][3 · filter + r]
  for (std::size_t at = 0; at < 3 * lanes; at += lanes) {
    Vectors<D, 3> x;
    hn::LoadInterleaved3(d, from + 3 * at, x[0], x[1], x[2]);
    unrolled<3>([&](auto s) HWY_ATTR { hn::Store(x[s], d, taps[s] + at); });
  }
  unrolled<3>([&](auto s)
                  HWY_ATTR { hn::LoadInterleaved3(d, taps[s], g[0][s], g[1][s], g[2][s]); });
}

/// The reverse.
template <class D>
HWY_INLINE void store_filters(D d, const Vectors<D, 3> (&g)[3], float* HWY_RESTRICT to) {
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) float taps[3][3 * hn::MaxLanes(d)];
  unrolled<3>([&](auto s)
                  HWY_ATTR { hn::StoreInterleaved3(g[0][s], g[1][s], g[2][s], d, taps[s]); });
  for (std::size_t at = 0; at < 3 * lanes; at += lanes) {
    hn::StoreInterleaved3(hn::Load(d, taps[0] + at), hn::Load(d, taps[1] + at),
                          hn::Load(d, taps[2] + at), d, to + 3 * at);
  }
}

}  // namespace dlscale::backend::native_device::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
