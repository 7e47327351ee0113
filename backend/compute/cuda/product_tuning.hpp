#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "backend/compute/cuda/matrix_product.hpp"
#include "backend/compute/cuda/tuning.hpp"

namespace dlscale::backend::cuda {

/// A product done one way, to be timed beside others that do the same.
struct ProductTrial {
  std::size_t scratch_bytes = 0;
  std::function<void(const ProductMemory& memory, std::byte* scratch)> run;
};

/// Who takes the least time, by trial on matrices as `problem` has them, and a bias as long as the
/// result's longer side. Throws Unsupported if none can run.
Fastest fastest_product(const Context& context, const ProductProblem& problem,
                        const std::vector<ProductTrial>& trials);

/// The fastest of the first `most` algorithms that cuBLASLt recommends, by trial once for all
/// products that do the same work, in this process or an earlier one. Throws Unsupported if it
/// offers none.
Chosen<ProductAlgorithm> fastest_algorithm(const Context& context, const Product& product,
                                           int most);

/// Equal for problems that are the same but for `what`.
std::string key_of(const ProductProblem& problem);

}  // namespace dlscale::backend::cuda
