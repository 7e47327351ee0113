#pragma once
#include <cstddef>
#include <string>

#include "backend/compute/compute.hpp"

namespace dlscale::backend::cuda {

/// Description of a kernel's operands, for messages: "8 x 64 x 56 x 56 bf16 nhwc", "1000 elements",
/// …
std::string describe(const TensorDesc& desc);
std::string describe_elements(std::size_t count);
std::string describe_bytes(std::size_t bytes);
std::string describe_seconds(Seconds seconds);

}  // namespace dlscale::backend::cuda
