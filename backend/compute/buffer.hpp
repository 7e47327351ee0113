#pragma once
#include <cstddef>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// Zeroed host memory on a 64-byte boundary; null for 0 bytes. Throws std::bad_alloc.
Buffer allocate_host(std::size_t bytes);

}  // namespace dlscale::backend
