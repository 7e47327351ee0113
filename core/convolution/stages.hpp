#pragma once
#include "core/convolution/work.hpp"

/// Implementations of algorithm_work(), each in its own file.
namespace dlscale::convolution {

AlgorithmWork im2col_work(const ConvolutionShape& shape, Pass pass, const WorkSetting& setting);
/// `method` must be a Winograd method.
AlgorithmWork winograd_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting);
/// `method` must be an FFT method.
AlgorithmWork spectral_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting);

/// Work of the backend cuda. `method` must be one of its Winograd or FFT methods.
AlgorithmWork device_work(Method method, const ConvolutionShape& shape, Pass pass);

constexpr double as_double(Index value) {
  return static_cast<double>(value);
}

/// Size of f32 elements in bytes.
constexpr Bytes floats(double count) {
  return Bytes(4 * count);
}
constexpr Bytes floats(std::int64_t count) {
  return floats(static_cast<double>(count));
}

/// A stage that reads both operands and writes the result of each product. If results are
/// accumulated, `added` elements are read as well.
Stage product_stage(const std::vector<Products>& products, double added = 0);

}  // namespace dlscale::convolution
