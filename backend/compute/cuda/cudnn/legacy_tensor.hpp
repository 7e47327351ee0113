#pragma once
#include <cudnn.h>

#include <cstdint>
#include <string>

#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/order.hpp"
#include "backend/compute/specification.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend::cuda {

/// Tensor descriptor for the cuDNN functions that predate its graphs.
using LegacyTensor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;

/// `what` it is made for appears in messages. Throws as check() does.
LegacyTensor make_legacy_tensor(const Dims& dims, DType dtype, Order order,
                                const std::string& what);

/// Converts a size to int, which these functions take. EXPECTs that it fits.
int legacy_size(std::int64_t size);

cudnnTensorFormat_t legacy_format(Order order);

}  // namespace dlscale::backend::cuda
