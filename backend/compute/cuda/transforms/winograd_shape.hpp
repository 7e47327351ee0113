#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend::cuda {
struct Context;
}  // namespace dlscale::backend::cuda

namespace dlscale::backend::cuda::transforms {

/// Size of the images that a pass reads or makes; channels of all groups.
struct Plane {
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
};

/// A pass as Winograd's algorithm sees it: a correlation of `input` to `output`, whose pixels are
/// cut into tiles. These are dy and dx in backward_data, x and dy in backward_filter.
struct WinogradShape {
  Pass pass;
  std::int64_t images;
  Plane input;
  Plane output;
  std::int64_t pad;            ///< padding of `input`; may be negative
  std::int64_t filters;        ///< K · C/groups
  std::int64_t filter_inputs;  ///< C/groups
  DType dtype;
};

/// Throws Unsupported, naming the property, for problems that F(m × m, 3 × 3) does not support.
WinogradShape winograd_shape(const ConvolutionProblem& problem, Pass pass, int m);

/// Name of the algorithm: "winograd_f4 F(4x4,3x3)"; in backward_filter "winograd_f4 F(3x3,4x4)".
std::string winograd_name(int m, Pass pass);

/// tf32 where the answer still keeps the precision of the layer. Factors rounded to tf32 make the
/// answer err by up to 2.6e-3 of its root mean square for F(2, 3), and 1.2e-2 for F(4, 3). In f32
/// it errs by 7e-7 and 3e-6. (Normally distributed values, up to 192 channels.)
Factors winograd_factors(int m, DType dtype);

/// Floating-point operations of a pass. The transforms count a multiplication and an addition for
/// each coefficient of the matrices; the products count one of each for each of their elements.
double winograd_operations(const WinogradShape& shape, int m);

/// The transforms with kernels on the stream of `context`, which must outlive them. Throws
/// Unsupported as make_winograd() does. m is 2 or 4.
template <int m>
std::unique_ptr<const Transforms> winograd_on_device(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass);

}  // namespace dlscale::backend::cuda::transforms
