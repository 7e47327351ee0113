#pragma once
#include <vector>

#include "backend/compute/native/convolution.hpp"

namespace dlscale::backend::native_device {

/// A shape with the output that follows from the rest.
ConvolutionShape shape_of(std::int64_t images, std::int64_t channels, std::int64_t height,
                          std::int64_t width, std::int64_t outputs, std::int64_t kernel_h,
                          std::int64_t kernel_w, std::int64_t stride, std::int64_t pad,
                          std::int64_t groups = 1);

/// Tensors of a shape, normally distributed.
struct Tensors {
  explicit Tensors(const ConvolutionShape& shape, unsigned seed = 1);
  std::vector<float> x, w, dy;
};

/// The same pass by plain loops in double.
std::vector<double> plain_pass(const ConvolutionShape& shape, Pass pass, const Tensors& tensors);

/// What an algorithm gives, with scratch memory of exactly what it asks for, all of it NaN before,
/// and guarded at both ends. The result is NaN before, too.
std::vector<float> run_pass(const ConvolutionAlgorithm& algorithm, const ConvolutionShape& shape,
                            Pass pass, const Tensors& tensors, int threads = 1);

/// max |a - b| / rms(b); infinite if a is not finite.
double relative_error(const std::vector<float>& a, const std::vector<double>& b);

}  // namespace dlscale::backend::native_device
