#include "backend/compute/cuda/kernels/kernels.hpp"

#include <algorithm>

#include "backend/compute/cuda/kernels/bias.hpp"
#include "backend/compute/cuda/kernels/elementwise.hpp"
#include "backend/compute/cuda/kernels/pictures.hpp"
#include "backend/compute/cuda/kernels/update.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"

namespace dlscale::backend::cuda {
namespace {

/// The launcher refers to the tensor and is valid for one call only.
StreamLauncher launcher_for(cudaStream_t stream, const Tensor& tensor) {
  return {stream, [&tensor] { return describe(tensor.desc); }};
}

/// Waits on the clock of the device, which counts nanoseconds but ticks about every microsecond.
__global__ void spin(std::uint64_t nanoseconds) {
  const auto now = [] {
    std::uint64_t time = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
    return time;
  };
  const std::uint64_t start = now();
  while (now() - start < nanoseconds) {
  }
}

}  // namespace

void accumulate(cudaStream_t stream, const Tensor& value, const Tensor& into) {
  launch_accumulate(launcher_for(stream, into), value, into);
}

void update(cudaStream_t stream, const SgdStep& step, std::size_t n, float* weights,
            const float* gradients, float* momentum, std::uint16_t* low, DType low_dtype) {
  const StreamLauncher launcher(stream, [n] { return describe_elements(n); });
  launch_update(launcher, step, n, weights, gradients, momentum, low, low_dtype);
}

void touch(cudaStream_t stream, std::byte* data, std::size_t bytes) {
  EXPECT(all_aligned({data}, sizeof(std::uint64_t)));
  const Touch code{data, bytes};
  StreamLauncher(stream, [bytes] {
    return describe_bytes(bytes);
  }).each("touch", code, code.threads());
}

void hold(cudaStream_t stream, Seconds seconds) {
  const double nanoseconds = std::max(0.0, seconds.si() * 1e9);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  const cudaError_t code =
      cudaLaunchKernelEx(&config, spin, static_cast<std::uint64_t>(nanoseconds));
  if (code != cudaSuccess) check(code, "launch of kernel hold", describe_seconds(seconds));
}

void add_bias(cudaStream_t stream, const float* bias, const Tensor& tensor) {
  launch_bias<Then::nothing>(launcher_for(stream, tensor), bias, tensor);
}

void add_bias_relu(cudaStream_t stream, const float* bias, const Tensor& tensor) {
  launch_bias<Then::relu>(launcher_for(stream, tensor), bias, tensor);
}

void rectify(cudaStream_t stream, const Tensor& tensor) {
  launch_rectify(launcher_for(stream, tensor), tensor, tensor);
}

std::size_t bias_gradient_scratch(const Context& context, const TensorDesc& output_gradient) {
  return partial_bytes(output_gradient.dims[1], context.properties.multiProcessorCount,
                       sizeof(BiasSums));
}

void bias_gradient(const Context& context, const Tensor& output_gradient, float* gradient,
                   std::byte* scratch) {
  const StreamLauncher launcher(context,
                                [&output_gradient] { return describe(output_gradient.desc); });
  launch_bias_gradient(launcher, output_gradient, gradient, scratch);
}

void relu_gradient(cudaStream_t stream, const Tensor& output, const Tensor& output_gradient,
                   const Tensor& input_gradient) {
  launch_relu_gradient(launcher_for(stream, output), output, output_gradient, input_gradient);
}

void normalise_pictures(cudaStream_t stream, const std::byte* pictures,
                        const PictureStatistics& statistics, const Tensor& to) {
  launch_normalisation(launcher_for(stream, to), reinterpret_cast<const std::uint8_t*>(pictures),
                       statistics, to);
}

}  // namespace dlscale::backend::cuda
