#pragma once
#include "core/convolution/work.hpp"

/// The methods of algorithm_work(), each in a file of its own.
namespace dlscale::lowering {

AlgorithmWork im2col_work(const ConvolutionShape& shape, Pass pass, const WorkSetting& setting);
/// `method`: one of Winograd's.
AlgorithmWork winograd_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting);
/// `method`: one of those by Fourier transforms.
AlgorithmWork spectral_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting);

/// Of the backend cuda. `method`: one that it has, of Winograd or FFT.
AlgorithmWork device_work(Method method, const ConvolutionShape& shape, Pass pass);

/// Elements of f32 as bytes.
constexpr Bytes floats(double count) {
  return Bytes(4 * count);
}
constexpr Bytes floats(std::int64_t count) {
  return floats(static_cast<double>(count));
}

/// Products as a stage that reads both operands and writes the result each time; results are read
/// as well where products are added to them: `added` elements in all.
Stage product_stage(const std::vector<Products>& products, double added = 0);

}  // namespace dlscale::lowering
