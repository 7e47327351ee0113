#pragma once
#include <cstdint>
#include <span>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// The operands and the result of a product, row-major in f32, all matrices of a batch one after
/// the other.
struct PlainProduct {
  GemmShape shape;
  std::span<const float> a;
  std::span<const float> b;
  std::span<const float> c;
};

/// How far a product is from the reference's, relative.
struct ProductError {
  double largest = 0;
  double mean = 0;  ///< over the elements that were compared
};

/// Of |c - d| / max(|d|, rms(d)), d the reference's (sums in double), as in
/// backend::OperationCheck; both infinite where c is not finite.
///
/// A small product is compared whole. Of a large one, that the reference would take minutes for,
/// whole rows and whole columns are, evenly spread from the first to the last and at least three of
/// each, so that every row and every column has elements that are compared; of a batch the first
/// product, the last and the one between. What is wrong with other elements only is not found.
///
/// `most_products`: products of two numbers that the rows may cost, and the columns; as it is, a
/// second of the reference's or less.
ProductError product_error(backend::ComputeDevice& reference, const PlainProduct& product,
                           std::int64_t most_products = std::int64_t{1} << 28);

}  // namespace dlscale::bench
