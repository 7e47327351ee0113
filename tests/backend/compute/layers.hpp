#pragma once
#include <memory>
#include <span>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// A layer by itself, with its output shape inferred.
Layer make_layer(const LayerKind& kind, const std::vector<ImageShape>& inputs);

/// Its operation on `device`, with plain inputs.
OperationSpec plain_spec(const ComputeDevice& device, const Layer& layer, int batch, DType dtype);

/// Its operation with the inputs in the order in which convolutions of the device leave them.
OperationSpec chained_spec(ComputeDevice& device, const Layer& layer, int batch, DType dtype);

/// Copies plain f32 values in and out of a tensor of `device`.
void write(ComputeDevice& device, const std::vector<float>& values, const Tensor& tensor);
std::vector<float> read(ComputeDevice& device, const Tensor& tensor);

/// n numbers, evenly spread over [-1, 1] and shuffled by `seed`.
std::vector<float> shuffled(std::int64_t n, unsigned seed);

}  // namespace dlscale::backend
