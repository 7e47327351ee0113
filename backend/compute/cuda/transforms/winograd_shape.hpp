#pragma once
#include <cstdint>
#include <string>

#include "backend/compute/cuda/convolution_problem.hpp"
#include "core/step.hpp"

namespace dlscale::backend::cuda::transforms {

/// The images that a pass reads or makes: channels of all groups.
struct Plane {
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
};

/// A pass as Winograd's algorithm sees it: a correlation of `input` to `output`, whose pixels are
/// cut into tiles. In backward_data these are dy and dx; in backward_filter x and dy.
struct WinogradShape {
  Pass pass;
  std::int64_t images;
  Plane input;
  Plane output;
  std::int64_t pad;            ///< of `input`; may be negative
  std::int64_t filters;        ///< K · C/groups
  std::int64_t filter_inputs;  ///< C/groups
};

/// Throws Unsupported for what F(m × m, 3 × 3) is not for, naming the property.
WinogradShape winograd_shape(const ConvolutionProblem& problem, Pass pass, int m);

/// "winograd_f4 F(4x4,3x3)"; of backward_filter "winograd_f4 F(3x3,4x4)".
std::string winograd_name(int m, Pass pass);

/// Floating-point operations of the transforms, a multiplication and an addition for each
/// coefficient of the matrices.
double winograd_operations(const WinogradShape& shape, int m);

}  // namespace dlscale::backend::cuda::transforms
