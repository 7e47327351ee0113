#pragma once
#include <cudnn.h>

#include <cstdint>
#include <string>

#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/order.hpp"
#include "backend/compute/specification.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend::cuda {

/// A tensor as the functions of cuDNN want it that are older than its graphs.
using LegacyTensor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;

/// `what` it is made for, in messages. Throws as check() does.
LegacyTensor make_legacy_tensor(const Dims& dims, DType dtype, Order order,
                                const std::string& what);

/// These functions count in int. EXPECTs a number that is one.
int legacy_size(std::int64_t size);

cudnnTensorFormat_t legacy_format(Order order);

}  // namespace dlscale::backend::cuda
