#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>

#include "backend/compute/compute.hpp"

namespace dlscale::backend::cuda {

/// In which order the elements of the tensors between operations lie: one of the two for all of a
/// device. Data enters as nchw.
enum class Order { nchw, nhwc };

/// What the operations of an open device share. They enqueue on `stream` and never wait.
struct Context {
  int device = 0;
  Order order = Order::nhwc;
  cudaStream_t stream = nullptr;
  cudnnHandle_t cudnn = nullptr;
  cublasLtHandle_t blas = nullptr;
  cudaDeviceProp properties{};
};

}  // namespace dlscale::backend::cuda
