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

/// One pass by one algorithm. Its memory beside the tensors is `scratch`, and `kept` where a caller
/// whose filters stay the same has it keep what it makes of them; and what the libraries of matrix
/// products and transforms allocate for themselves. With the same threads it gives the same answer
/// every time, bit for bit.
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

  /// What keep() writes; 0 where there is nothing to keep.
  [[nodiscard]] virtual std::size_t kept_bytes() const { return 0; }
  /// Writes to `kept`, kept_bytes() at a multiple of 64, what run_kept() needs of the filters.
  /// Requires kept_bytes() > 0, as run_kept() does.
  virtual void keep(const float* second, std::byte* kept, std::byte* scratch);
  /// run() with the filters that were kept.
  virtual void run_kept(const float* first, const std::byte* kept, float* result,
                        std::byte* scratch);
};

/// An algorithm and what makes its passes.
struct ConvolutionAlgorithm {
  std::string name;  ///< "winograd_f4": as users write it
  std::string doc;
  /// Throws Unsupported that says which property of the shape it lacks ("stride 2: Winograd needs
  /// 1"). `threads` ≥ 1: what OpenMP may use.
  std::function<std::unique_ptr<ConvolutionPass>(const ConvolutionShape& shape, Pass pass,
                                                 int threads)>
      make;
  /// Whether forward computes with something that it makes of the filters.
  bool keeps_filters = false;
};

}  // namespace dlscale::backend::native_device
