#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

/// Our own convolutions on processors: im2col and GEMM, FFT, Winograd. All work on dense row-major
/// f32 tensors: activations N × C × H × W, weights K × C/groups × R × S, gradients likewise.
namespace dlscale::backend::native_device {

/// "8 x 64 x 56 x 56 to 64 x 56 x 56 by 3 x 3, stride 1, pad 1", for messages.
std::string describe(const ConvolutionShape& shape);

/// One pass by one algorithm. Beside the tensors it uses `scratch`, and `kept` if a caller with
/// constant filters lets it keep what it derives from them. Libraries of matrix products and
/// transforms also allocate memory of their own. With the same threads it gives bit-identical
/// answers every time.
///   forward:         first = x, second = w,  result = y (without bias)
///   backward_data:   first = dy, second = w, result = dx
///   backward_filter: first = x, second = dy, result = dw
class ConvolutionPass {
 public:
  virtual ~ConvolutionPass() = default;
  /// Name of the algorithm with the instruction set: "winograd F(4x4,3x3) avx3+gemm".
  [[nodiscard]] virtual std::string implementation() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Overwrites `result`. `scratch` has scratch_bytes() at an address that is a multiple of 64,
  /// with any content.
  virtual void run(const float* first, const float* second, float* result, std::byte* scratch) = 0;

  /// Number of bytes that keep() writes; 0 if there is nothing to keep.
  [[nodiscard]] virtual std::size_t kept_bytes() const { return 0; }
  /// Writes what run_kept() needs of the filters to `kept`, kept_bytes() at a multiple of 64.
  /// Requires kept_bytes() > 0, as run_kept() does.
  virtual void keep(const float* second, std::byte* kept, std::byte* scratch);
  /// run() with the kept filters.
  virtual void run_kept(const float* first, const std::byte* kept, float* result,
                        std::byte* scratch);
};

/// An algorithm and the function that makes its passes.
struct ConvolutionAlgorithm {
  std::string name;  ///< "winograd_f4": as users write it
  std::string doc;
  /// Throws Unsupported naming the unsuitable property of the shape ("stride 2: Winograd needs 1").
  /// `threads` ≥ 1: the most that OpenMP may use.
  std::function<std::unique_ptr<ConvolutionPass>(const ConvolutionShape& shape, Pass pass,
                                                 int threads)>
      make;
  /// Whether forward computes with something that it derives from the filters.
  bool keeps_filters = false;
};

}  // namespace dlscale::backend::native_device
