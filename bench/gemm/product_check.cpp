#include "bench/gemm/product_check.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using Index = std::int64_t;

constexpr Index least_lines = 3;

/// At most `wanted` evenly spaced indices of 0 … count - 1, with the first and the last.
std::vector<Index> spread(Index count, Index wanted) {
  const Index taken = std::min(count, wanted);
  std::vector<Index> chosen;
  chosen.reserve(static_cast<std::size_t>(taken));
  for (Index i = 0; i < taken; ++i) {
    chosen.push_back(taken == 1 ? 0 : i * (count - 1) / (taken - 1));
  }
  return chosen;
}

/// Pairs of values from the device and from the reference.
struct Pairs {
  std::vector<float> got;
  std::vector<float> expected;
};

ProductError error_of(const Pairs& pairs) {
  double squares = 0;
  for (const float value : pairs.expected) squares += double{value} * value;
  const double typical = std::sqrt(squares / static_cast<double>(pairs.expected.size()));
  ProductError found;
  for (std::size_t i = 0; i < pairs.got.size(); ++i) {
    const double expected = pairs.expected[i];
    if (pairs.got[i] == pairs.expected[i]) continue;
    const double error =
        std::abs(double{pairs.got[i]} - expected) / std::max(std::abs(expected), typical);
    if (!std::isfinite(error)) return {HUGE_VAL, HUGE_VAL};
    found.largest = std::max(found.largest, error);
    found.mean += error / static_cast<double>(pairs.got.size());
  }
  return found;
}

std::vector<float> multiplied(backend::ComputeDevice& reference, const GemmShape& shape,
                              const float* a, const float* b) {
  std::vector<float> c(static_cast<std::size_t>(shape.c_elements()));
  const auto product = reference.matrix_product(shape, DType::f32);
  const backend::Buffer scratch = reference.allocate(product->scratch_bytes());
  product->run(reinterpret_cast<const std::byte*>(a), reinterpret_cast<const std::byte*>(b),
               reinterpret_cast<std::byte*>(c.data()), scratch.get());
  reference.synchronize();
  return c;
}

/// One product of a batch.
class Single {
 public:
  Single(const PlainProduct& product, Index which, Index most_products)
      : shape_(product.shape),
        most_products_(most_products),
        a_(product.a.data() + which * shape_.m * shape_.k),
        b_(product.b.data() + which * shape_.k * shape_.n),
        c_(product.c.data() + which * shape_.m * shape_.n) {
    shape_.batch = 1;
  }

  void compare(backend::ComputeDevice& reference, Pairs& pairs) const {
    const std::vector<Index> rows = affordable(shape_.m, shape_.n);
    compare_rows(reference, rows, pairs);
    if (static_cast<Index>(rows.size()) == shape_.m) return;
    compare_columns(reference, affordable(shape_.n, shape_.m), pairs);
  }

 private:
  /// Indices of the rows or columns to compare, of `count` with `length` elements each.
  [[nodiscard]] std::vector<Index> affordable(Index count, Index length) const {
    return spread(count, std::max(least_lines, most_products_ / (shape_.k * length)));
  }

  void compare_rows(backend::ComputeDevice& reference, const std::vector<Index>& rows,
                    Pairs& pairs) const {
    std::vector<float> some;
    some.reserve(rows.size() * static_cast<std::size_t>(shape_.k));
    for (const Index i : rows) {
      for (Index p = 0; p < shape_.k; ++p) {
        some.push_back(shape_.transpose_a ? a_[p * shape_.m + i] : a_[i * shape_.k + p]);
      }
      pairs.got.insert(pairs.got.end(), c_ + i * shape_.n, c_ + (i + 1) * shape_.n);
    }
    GemmShape part = shape_;
    part.m = static_cast<Index>(rows.size());
    part.transpose_a = false;
    append(multiplied(reference, part, some.data(), b_), pairs);
  }

  void compare_columns(backend::ComputeDevice& reference, const std::vector<Index>& columns,
                       Pairs& pairs) const {
    std::vector<float> some;
    some.reserve(columns.size() * static_cast<std::size_t>(shape_.k));
    for (const Index j : columns) {
      for (Index p = 0; p < shape_.k; ++p) {
        some.push_back(shape_.transpose_b ? b_[j * shape_.k + p] : b_[p * shape_.n + j]);
      }
    }
    for (Index i = 0; i < shape_.m; ++i) {
      for (const Index j : columns) pairs.got.push_back(c_[i * shape_.n + j]);
    }
    GemmShape part = shape_;
    part.n = static_cast<Index>(columns.size());
    part.transpose_b = true;
    append(multiplied(reference, part, a_, some.data()), pairs);
  }

  static void append(const std::vector<float>& expected, Pairs& pairs) {
    pairs.expected.insert(pairs.expected.end(), expected.begin(), expected.end());
    EXPECT(pairs.expected.size() == pairs.got.size());
  }

  GemmShape shape_;
  Index most_products_;
  const float* a_;
  const float* b_;
  const float* c_;
};

}  // namespace

ProductError product_error(backend::ComputeDevice& reference, const PlainProduct& product,
                           std::int64_t most_products) {
  EXPECT(static_cast<Index>(product.a.size()) == product.shape.a_elements());
  EXPECT(static_cast<Index>(product.b.size()) == product.shape.b_elements());
  EXPECT(static_cast<Index>(product.c.size()) == product.shape.c_elements());
  Pairs pairs;
  for (const Index which : spread(product.shape.batch, least_lines)) {
    Single(product, which, most_products).compare(reference, pairs);
  }
  return error_of(pairs);
}

}  // namespace dlscale::bench
