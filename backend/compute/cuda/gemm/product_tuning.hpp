#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// One implementation of a product, to be timed against others.
struct ProductTrial {
  std::string name;
  std::size_t scratch_bytes = 0;
  std::function<void(const ProductMemory& memory, std::byte* scratch)> run;
};

/// The candidates for a product.
struct ProductCandidates {
  std::vector<ProductTrial> trials;
  std::size_t plain = 0;      ///< Candidates::plain
  std::size_t bias_sums = 0;  ///< number of sums they write to the bias; 0: they read it
};

struct ProductVerdict {
  Fastest best;
  std::string note;  ///< Trialled::note
};

/// The fastest candidate that passes an Examination, by trial on matrices of `problem` and a bias
/// as long as the result's longer side. Throws Unsupported if there is none.
ProductVerdict fastest_product(const Context& context, const ProductProblem& problem,
                               const ProductCandidates& candidates);

/// Number of algorithms recommended by cuBLASLt that a trial of one product compares.
inline constexpr int most_product_algorithms = 16;

/// The fastest of the first `most` algorithms that cuBLASLt recommends. One trial, in this process
/// or an earlier one, serves all products that do the same work. Throws Unsupported if it offers
/// none.
Chosen<ProductAlgorithm> fastest_algorithm(const Context& context, const Product& product,
                                           int most);

/// Key that is equal for problems that differ only in `what`.
std::string key_of(const ProductProblem& problem);

/// Uses the algorithm of cuBLASLt that a trial found fastest. `context` outlives the product.
/// Throws Unsupported where the library offers none.
std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype);

}  // namespace dlscale::backend::cuda
