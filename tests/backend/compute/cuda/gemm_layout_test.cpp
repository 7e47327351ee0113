#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/cuda/gemm/matrix_product.hpp"

/// What cuBLAS is told of row-major matrices, carried out on the host as its manual defines it.
namespace dlscale::backend::cuda {
namespace {

using Values = std::vector<double>;

Values counted(std::int64_t count, double first) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<double>(i % 17));
  return values;
}

/// An element of op(M) of a column-major matrix.
double element(const Values& values, const Matrix& matrix, Transposed transposed,
               std::int64_t which, std::int64_t row, std::int64_t column) {
  if (transposed == Transposed::yes) std::swap(row, column);
  EXPECT_LT(row, matrix.rows);
  EXPECT_LT(column, matrix.columns);
  return values[which * matrix.distance + column * matrix.leading + row];
}

/// D = op(left) · op(right), all column-major.
Values cublas(const ProductProblem& problem, const Values& left, const Values& right) {
  const auto& [rows, columns, dtype, batch, leading, distance] = problem.result;
  const bool turned = problem.left_transposed == Transposed::yes;
  const std::int64_t depth = turned ? problem.left.rows : problem.left.columns;
  Values result(static_cast<std::size_t>(rows * columns * batch));
  for (std::int64_t which = 0; which < batch; ++which) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < depth; ++p) {
          sum += element(left, problem.left, problem.left_transposed, which, i, p) *
                 element(right, problem.right, problem.right_transposed, which, p, j);
        }
        result[which * distance + j * leading + i] = sum;
      }
    }
  }
  return result;
}

/// C = op(A) · op(B), all row-major.
Values row_major(const GemmShape& shape, const Values& a, const Values& b) {
  const auto& [m, n, k, transpose_a, transpose_b, batch] = shape;
  Values c;
  for (std::int64_t which = 0; which < batch; ++which) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += a[which * m * k + (transpose_a ? p * m + i : i * k + p)] *
                 b[which * k * n + (transpose_b ? j * k + p : p * n + j)];
        }
        c.push_back(sum);
      }
    }
  }
  return c;
}

TEST(RowMajorProducts, AreTheColumnMajorOnesThatCublasIsGiven) {
  for (const char* sizes : {"2x3x5", "5x2x3", "1x7x4", "7x1x4", "4x7x1", "6x6x6"}) {
    for (const char* transposes : {":nn", ":nt", ":tn", ":tt"}) {
      for (const char* batch : {"", ":b3"}) {
        const std::string text = std::string(sizes) + transposes + batch;
        const GemmShape shape = parse_gemm_shape(text, "a test");
        const Values a = counted(shape.a_elements(), 1);
        const Values b = counted(shape.b_elements(), -5);
        const ProductProblem problem = problem_of(shape, DType::bf16);
        EXPECT_EQ(cublas(problem, b, a), row_major(shape, a, b)) << text;
      }
    }
  }
}

TEST(RowMajorProducts, KeepPrecisionAndBatchOfEveryMatrix) {
  const ProductProblem problem = problem_of({4, 6, 8, false, false, 3}, DType::f16);
  for (const Matrix& matrix : {problem.left, problem.right, problem.result}) {
    EXPECT_EQ(matrix.dtype, DType::f16);
    EXPECT_EQ(matrix.batch, 3);
  }
  EXPECT_EQ(problem.what, "gemm m4 n6 k8 ta0 tb0 batch3 in f16");
  EXPECT_EQ(problem.epilogue, Epilogue::none);
}

TEST(MatricesOfABatch, BeginWhereTheOnesBeforeThemEnd) {
  EXPECT_EQ(alignment_of({3, 5, DType::f32, 1}), 16U);  // a buffer's
  EXPECT_EQ(alignment_of({3, 5, DType::f32, 2}), 4U);
  EXPECT_EQ(alignment_of({3, 5, DType::bf16, 2}), 2U);
  EXPECT_EQ(alignment_of({2, 2, DType::bf16, 2}), 8U);
  EXPECT_EQ(alignment_of({64, 64, DType::bf16, 2}), 16U);
  EXPECT_EQ(alignment_of({3, 5, DType::f32, 2}, Number::complex), 8U);
  EXPECT_EQ(alignment_of({64, 64, DType::f32, 2}, Number::real, 4), 4U) << "the first is no better";
  const Matrix apart{3, 5, DType::f32, 2, 8, 48};
  EXPECT_EQ(alignment_of(apart), 16U) << "gaps count";
}

/// cublasLt.h wants the bias in the precision of the result; ours is f32.
TEST(Epilogues, AreOfferedOfResultsInF32Alone) {
  for (const DType dtype : all_dtypes) {
    for (const Epilogue epilogue : {Epilogue::add_bias, Epilogue::sum_right_columns}) {
      ProductProblem problem = problem_of(GemmShape{.m = 4, .n = 3, .k = 2}, dtype);
      problem.epilogue = epilogue;
      EXPECT_EQ(has_epilogue(problem), element_bytes(dtype) == 4) << dtype_name(dtype);
      problem.result.dtype = DType::f32;  // a weight gradient
      EXPECT_TRUE(has_epilogue(problem));
      problem.result.dtype = dtype;
      problem.epilogue = Epilogue::none;
      EXPECT_TRUE(has_epilogue(problem));
    }
  }
}

}  // namespace
}  // namespace dlscale::backend::cuda
