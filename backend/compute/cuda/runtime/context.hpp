#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

class Choices;

/// State that the operations of an open device share. They enqueue on `stream` and never wait.
struct Context {
  int device = 0;
  Order order = Order::nhwc;
  cudaStream_t stream = nullptr;
  cudnnHandle_t cudnn = nullptr;
  cublasLtHandle_t blas = nullptr;
  Choices* choices = nullptr;  ///< choices of kernels, by trial
  cudaDeviceProp properties{};
};

}  // namespace dlscale::backend::cuda
