#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/gemm/matrix_product.hpp"

namespace dlscale::backend::cuda {

/// A product done one way, to be timed beside others that do the same.
struct ProductTrial {
  std::string name;
  std::size_t scratch_bytes = 0;
  std::function<void(const ProductMemory& memory, std::byte* scratch)> run;
};

/// What to choose among, beside the product itself.
struct ProductWays {
  std::vector<ProductTrial> trials;
  std::size_t plain = 0;      ///< Ways::plain
  std::size_t bias_sums = 0;  ///< how many sums they write where the bias lies; 0: they read it
};

struct ProductVerdict {
  Fastest best;
  std::string note;  ///< Trialled::note
};

/// Who takes the least time and passes an Examination, by trial on matrices as `problem` has them,
/// and a bias as long as the result's longer side. Throws Unsupported if there is none.
ProductVerdict fastest_product(const Context& context, const ProductProblem& problem,
                               const ProductWays& ways);

/// The fastest of the first `most` algorithms that cuBLASLt recommends, by trial once for all
/// products that do the same work, in this process or an earlier one. Throws Unsupported if it
/// offers none.
Chosen<ProductAlgorithm> fastest_algorithm(const Context& context, const Product& product,
                                           int most);

/// Equal for problems that are the same but for `what`.
std::string key_of(const ProductProblem& problem);

}  // namespace dlscale::backend::cuda
