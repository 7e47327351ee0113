#include "backend/compute/cuda/cudnn_layers/layer_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/compute/specification.hpp"

namespace dlscale::backend::cuda {
namespace {

/// The parameters of a kind on which its work depends.
std::string numbers_of(const LayerKind& kind) {
  if (const auto* pooling = std::get_if<Pooling>(&kind)) {
    return fmt::format("{}x{} stride{} pad{}", pooling->kernel_h, pooling->kernel_w,
                       pooling->stride, pooling->pad);
  }
  if (const auto* lrn = std::get_if<Lrn>(&kind)) {
    return fmt::format("{} {} {} {}", lrn->size, lrn->alpha, lrn->beta, lrn->k);
  }
  const auto* norm = std::get_if<BatchNorm>(&kind);
  return norm == nullptr ? "" : fmt::format("{}", norm->epsilon);
}

}  // namespace

std::string layer_key(const OperationSpec& spec, Order order) {
  return fmt::format("{} {} {} to {} {} {}", kind_name(spec.layer.kind),
                     numbers_of(spec.layer.kind), fmt::join(spec.inputs.front().dims, "x"),
                     fmt::join(output_dims(spec), "x"), dtype_name(spec.dtype),
                     order == Order::nhwc ? "nhwc" : "nchw");
}

}  // namespace dlscale::backend::cuda
