#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"

/// Fixtures that tests of kernels on a GPU share.
namespace dlscale::backend::cuda {

/// Skips where there is no GPU to run on.
template <class Base>
class OnGpu : public Base {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess) GTEST_SKIP() << "no GPU: " << cudaGetErrorString(code);
    if (count == 0) GTEST_SKIP() << "no GPU";
    check(cudaGetDeviceProperties(&context_.properties, 0), "cudaGetDeviceProperties", "a test");
  }

  Context context_;
};

/// Memory of the GPU with values of the host, or zeroed.
class Area : public DeviceMemory {
 public:
  explicit Area(std::size_t bytes) : DeviceMemory(std::max<std::size_t>(bytes, 1)), used_(bytes) {
    check(cudaMemset(get(), 0, bytes), "cudaMemset", "a test");
  }
  Area(const void* from, std::size_t bytes) : Area(bytes) {
    check(cudaMemcpy(get(), from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy", "a test");
  }

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(get());
  }
  /// Waits for the kernels before it.
  template <class T = std::byte>
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(used_ / sizeof(T));
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", "a test");
    check(cudaMemcpy(values.data(), get(), used_, cudaMemcpyDeviceToHost), "cudaMemcpy", "a test");
    return values;
  }

 private:
  std::size_t used_;
};

}  // namespace dlscale::backend::cuda
