#pragma once
#include <cstdint>
#include <span>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// Operands and result of a product, row-major in f32, the matrices of a batch one after the other.
struct PlainProduct {
  GemmShape shape;
  std::span<const float> a;
  std::span<const float> b;
  std::span<const float> c;
};

/// Relative error of a product against the reference.
struct ProductError {
  double largest = 0;
  double mean = 0;  ///< over the compared elements
};

/// Errors |c - d| / max(|d|, rms(d)), where d is the reference's result (sums in double), as in
/// backend::OperationCheck; both infinite if c is not finite.
///
/// A small product is compared completely. A large one, which would take the reference minutes, is
/// compared in whole rows and columns. They are evenly spaced from first to last, at least three of
/// each, so that every row and column has compared elements. Of a batch, the first, the last and a
/// middle product are compared. Errors only in other elements are not found.
///
/// `most_products` limits the multiplications for the rows, and for the columns; the default takes
/// the reference a second or less.
ProductError product_error(backend::ComputeDevice& reference, const PlainProduct& product,
                           std::int64_t most_products = std::int64_t{1} << 28);

}  // namespace dlscale::bench
