#pragma once
#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Adds cells of matrix products by a compute backend from warm caches: the peak of its library,
/// besides the loops of `bench peak`. The axes "products", "dtype", "threads" and "backend" select
/// them. Throws ConfigError for unknown words in them. A missing backend or precision gives a row
/// with the reason.
void add_products(const Context& context, const std::string& operation, std::vector<Cell>& cells);

}  // namespace dlscale::bench
