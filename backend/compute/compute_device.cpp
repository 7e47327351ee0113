#include <fmt/format.h>

#include "backend/compute/compute.hpp"
#include "core/error.hpp"

namespace dlscale::backend {

std::unique_ptr<MatrixProduct> ComputeDevice::matrix_product(const GemmShape& /*shape*/,
                                                             DType /*dtype*/) {
  throw Unsupported(fmt::format("{} offers no matrix product apart from layers.", name()));
}

void ComputeDevice::normalise(const std::byte* /*pictures*/,
                              const PictureStatistics& /*statistics*/, const Tensor& /*to*/) {
  throw Unsupported(fmt::format(
      "{} computes in host memory, where the loader threads normalise pictures.", name()));
}

}  // namespace dlscale::backend
