#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/convolution_shape.hpp"
#include "core/step.hpp"

/// Our own convolutions on processors: im2col and GEMM, FFT, Winograd. All work on dense row-major
/// f32 tensors: activations N × C × H × W, weights K × C/groups × R × S, gradients likewise.
namespace dlscale::backend::native_device {

/// "8 x 64 x 56 x 56 to 64 x 56 x 56 by 3 x 3, stride 1, pad 1", for messages.
std::string describe(const ConvolutionShape& shape);

/// One pass by one algorithm. Its memory beside the tensors is `scratch`, nothing else.
///   forward:         first = x, second = w,  result = y (without bias)
///   backward_data:   first = dy, second = w, result = dx
///   backward_filter: first = x, second = dy, result = dw
class ConvolutionPass {
 public:
  virtual ~ConvolutionPass() = default;
  /// What runs, with the instruction set: "winograd F(4x4,3x3) avx3+gemm".
  [[nodiscard]] virtual std::string implementation() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Writes `result`, adds nothing to it. `scratch`: scratch_bytes() at an address that is a
  /// multiple of 64, of any content.
  virtual void run(const float* first, const float* second, float* result, std::byte* scratch) = 0;
};

/// An algorithm and what makes its passes.
struct ConvolutionAlgorithm {
  std::string_view name;  ///< "winograd_f4": as users write it
  std::string_view doc;
  /// Throws Unsupported that says which property of the shape it lacks ("stride 2: Winograd needs
  /// 1"). `threads` ≥ 1: what OpenMP may use.
  std::unique_ptr<ConvolutionPass> (*make)(const ConvolutionShape& shape, Pass pass, int threads);
};

}  // namespace dlscale::backend::native_device
