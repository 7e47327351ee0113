#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

/// Limits registers so that three teams fit on a multiprocessor.
template <class Body>
__global__ void __launch_bounds__(team_size, 3)
    run_each(const __grid_constant__ Body body, std::uint32_t threads) {
  const std::uint32_t thread = blockIdx.x * team_size + threadIdx.x;
  if (thread < threads) body(thread);
}

template <class Body>
__global__ void __launch_bounds__(team_size) run_teams(const __grid_constant__ Body body) {
  __shared__ typename Body::Shared shared;
  const Place place{blockIdx.x, blockIdx.y, threadIdx.x};
  DLSCALE_UNROLL
  for (int phase = 0; phase < Body::phases; ++phase) {
    if (phase > 0) __syncthreads();
    body.run(phase, place, shared);
  }
}

/// Enqueues kernels on a stream, and names the operation if a launch fails. See
/// host_device_code.hpp for what a launcher is.
class StreamLauncher {
 public:
  using Describe = std::function<std::string()>;

  StreamLauncher(cudaStream_t stream, Describe describe)
      : stream_(stream), describe_(std::move(describe)) {}
  /// Launcher for an operation. Reads the stream from `context` at each launch, so that it may
  /// change.
  StreamLauncher(const Context& context, const OperationSpec& spec)
      : context_(&context), describe_([what = backend::describe(spec)] { return what; }) {}
  StreamLauncher(const Context& context, Describe describe)
      : context_(&context), describe_(std::move(describe)) {}

  template <class Body>
  void each(std::string_view name, const Body& body, std::int64_t threads) const {
    EXPECT(threads >= 0 && threads < std::int64_t{1} << 31);
    if (threads == 0) return;
    const auto count = static_cast<std::uint32_t>(threads);
    launch(name, dim3((count + team_size - 1) / team_size), run_each<Body>, body, count);
  }

  template <class Body>
  void teams(std::string_view name, const Body& body, std::int64_t x, std::int64_t y) const {
    EXPECT(x >= 1 && x < std::int64_t{1} << 31 && y >= 1 && y <= 65535);
    launch(name, dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)), run_teams<Body>, body);
  }

  void upload(const void* from, void* to, std::size_t bytes) const {
    const cudaError_t code = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream());
    if (code != cudaSuccess) cuda::check(code, "cudaMemcpyAsync", describe_());
  }

  [[nodiscard]] int processors() const {
    EXPECT(context_ != nullptr);
    return context_->properties.multiProcessorCount;
  }

 private:
  [[nodiscard]] cudaStream_t stream() const {
    return context_ == nullptr ? stream_ : context_->stream;
  }
  /// Avoids <<<…>>>, after which only the last error of any call can be queried. Builds the
  /// description only on failure, as an iteration launches hundreds of kernels.
  template <class... Parameters, class... Arguments>
  void launch(std::string_view name, dim3 grid, void (*kernel)(Parameters...),
              const Arguments&... arguments) const {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = dim3(team_size);
    config.stream = stream();
    const cudaError_t code = cudaLaunchKernelEx(&config, kernel, arguments...);
    if (code != cudaSuccess) {
      cuda::check(code, "launch of kernel " + std::string(name), describe_());
    }
  }

  const Context* context_ = nullptr;
  cudaStream_t stream_ = nullptr;
  Describe describe_;
};

}  // namespace dlscale::backend::cuda
