#pragma once
#include <cstddef>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"

namespace dlscale::backend::cuda {

/// Copies tensors between host and device, between orders and between precisions, in the order of
/// the stream. A copy between host and device that also converts passes through a device buffer,
/// which grows to the largest tensor seen.
class Copier {
 public:
  explicit Copier(const Context& context) : context_(&context) {}
  /// Copies as ComputeDevice::copy does.
  void copy(const Tensor& from, const Tensor& to);

 private:
  void upload(const Tensor& from, const Tensor& to);
  void download(const Tensor& from, const Tensor& to);
  void move(const Tensor& from, const Tensor& to, cudaMemcpyKind kind);
  std::byte* area(std::size_t bytes);

  const Context* context_;
  DeviceMemory area_;
};

}  // namespace dlscale::backend::cuda
