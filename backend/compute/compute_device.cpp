#include <fmt/format.h>

#include "backend/compute/compute.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

TensorDesc ComputeDevice::arranged(Dims dims, DType dtype, LayoutKind kind) const {
  if (kind == LayoutKind::nchw) return plain(dims, dtype);
  throw Unsupported(
      fmt::format("{} keeps activations in nchw only, not in {}", name(), layout_kind_name(kind)));
}

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
