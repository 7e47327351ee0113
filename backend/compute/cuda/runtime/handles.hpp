#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "core/base/units.hpp"

namespace dlscale::backend::cuda {

/// Owners of library handles. Destroying one never throws: an error then stems from earlier work,
/// and the next check finds it.

template <auto destroy>
struct Destroyer {
  template <class Handle>
  void operator()(Handle handle) const noexcept {
    static_cast<void>(destroy(handle));
  }
};
template <class Handle, auto destroy>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Destroyer<destroy>>;

using Stream = Owner<cudaStream_t, cudaStreamDestroy>;
using Event = Owner<cudaEvent_t, cudaEventDestroy>;
using CudnnHandle = Owner<cudnnHandle_t, cudnnDestroy>;
using BlasHandle = Owner<cublasLtHandle_t, cublasLtDestroy>;

/// Directs the CUDA calls of this thread to GPU number `device`.
void select_device(int device);

/// A stream that does not wait for the default stream.
Stream make_stream();
/// Events that record the device's time.
Event make_event();
void record(const Event& event, cudaStream_t stream);
/// Time between two events. Waits for `to`.
Seconds elapsed(const Event& from, const Event& to);

/// Temporary device memory. Not zeroed; null for 0 bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Throws ConfigError if memory does not suffice.
  explicit DeviceMemory(std::size_t bytes);
  [[nodiscard]] std::byte* get() const { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Owner<std::byte*, cudaFree> data_;
  std::size_t bytes_ = 0;
};

}  // namespace dlscale::backend::cuda
