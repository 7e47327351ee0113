#pragma once
#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/winograd_matrices.hpp"

/// The matrices of Winograd's algorithm as code: every coefficient is a constant of an instruction,
/// and terms with 0 are left out.
namespace dlscale::backend::cuda::transforms {

/// Bᵀ, for tiles of alpha × alpha.
template <int alpha>
struct DataMatrix {
  static constexpr int rows = alpha;
  static constexpr int columns = alpha;
  static constexpr float at(int row, int column) {
    return static_cast<float>(minimal_filtering::data_matrix<alpha>()[row][column].value());
  }
};

/// G of F(m, r).
template <int m, int r>
struct FilterMatrix {
  static constexpr int rows = m + r - 1;
  static constexpr int columns = r;
  static constexpr float at(int row, int column) {
    return static_cast<float>(minimal_filtering::filter_matrix<m, r>()[row][column].value());
  }
};

/// Aᵀ of F(m, r).
template <int m, int r>
struct OutputMatrix {
  static constexpr int rows = m;
  static constexpr int columns = m + r - 1;
  static constexpr float at(int row, int column) {
    return static_cast<float>(minimal_filtering::output_matrix<m, r>()[row][column].value());
  }
};

/// Whether M[row][first], M[row][first + 1], … are all 0.
template <class M, int row, int first>
constexpr bool vanishes() {
  for (int column = first; column < M::columns; ++column) {
    if (M::at(row, column) != 0) return false;
  }
  return true;
}

/// Σ M[row][column] · x[column] over column = first, first + 1, …
template <class M, int row, int first = 0>
DLSCALE_HOST_DEVICE float row_times(const float (&x)[M::columns]) {
  constexpr float c = M::at(row, first);
  if constexpr (vanishes<M, row, first + 1>()) {
    return c * x[first];
  } else if constexpr (c == 0) {
    return row_times<M, row, first + 1>(x);
  } else {
    return c * x[first] + row_times<M, row, first + 1>(x);
  }
}

/// y = M x.
template <class M, int row = 0>
DLSCALE_HOST_DEVICE void times(const float (&x)[M::columns], float (&y)[M::rows]) {
  y[row] = row_times<M, row>(x);
  if constexpr (row + 1 < M::rows) times<M, row + 1>(x, y);
}

/// Y = M X Mᵀ.
template <class M>
DLSCALE_HOST_DEVICE void both_sides(const float (&x)[M::columns][M::columns],
                                    float (&y)[M::rows][M::rows]) {
  float halfway[M::rows][M::columns];
  DLSCALE_UNROLL
  for (int j = 0; j < M::columns; ++j) {
    float column[M::columns];
    DLSCALE_UNROLL
    for (int i = 0; i < M::columns; ++i) column[i] = x[i][j];
    float result[M::rows];
    times<M>(column, result);
    DLSCALE_UNROLL
    for (int i = 0; i < M::rows; ++i) halfway[i][j] = result[i];
  }
  DLSCALE_UNROLL
  for (int i = 0; i < M::rows; ++i) times<M>(halfway[i], y[i]);
}

}  // namespace dlscale::backend::cuda::transforms
