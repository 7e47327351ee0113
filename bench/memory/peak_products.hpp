#pragma once
#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Adds cells of matrix products by a compute backend, from warm caches: what its library reaches,
/// beside the loops of `bench peak`. The axes "products", "dtype", "threads" and "backend" say
/// which. Throws ConfigError for words in them that mean nothing; a backend that is not here, and
/// a precision that it does not have, give rows with the reason.
void add_products(const Context& context, const std::string& operation, std::vector<Cell>& cells);

}  // namespace dlscale::bench
