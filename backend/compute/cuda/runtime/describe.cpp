#include "backend/compute/cuda/runtime/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dlscale::backend::cuda {

std::string describe(const TensorDesc& desc) {
  return fmt::format("{} {} {}", fmt::join(desc.dims, " x "), dtype_name(desc.dtype),
                     desc.layout.name);
}

std::string describe_elements(std::size_t count) {
  return fmt::format("{} elements", count);
}

std::string describe_bytes(std::size_t bytes) {
  return fmt::format("{} bytes", bytes);
}

std::string describe_seconds(Seconds seconds) {
  return fmt::format("{} s", seconds.si());
}

}  // namespace dlscale::backend::cuda
