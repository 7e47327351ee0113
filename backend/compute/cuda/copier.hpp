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

/// Copies to the device on a stream of their own, concurrently with its work. Copied data are used
/// after join(); the next copy waits for the first use, so that one buffer can be refilled
/// repeatedly.
class CopyLane {
 public:
  explicit CopyLane(const Context& context);
  void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes);
  /// Makes work enqueued from now on wait for the copies.
  void join();
  /// Call after each copy between tensors: the first one after join() is the use.
  void note_use();

 private:
  enum class State { idle, joined };

  const Context* context_;
  Stream stream_;
  Event copied_;
  Event used_;
  State state_ = State::idle;
};

}  // namespace dlscale::backend::cuda
