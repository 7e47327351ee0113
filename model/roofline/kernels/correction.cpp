#include "model/roofline/kernels/correction.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace dlscale::model {

LogSizes log_sizes(const KernelCase& what) {
  const ConvolutionShape& shape = what.shape;
  const auto log_of = [](std::int64_t size) { return std::log2(static_cast<double>(size)); };
  double summed = log_of(shape.channels / shape.groups);
  double made = log_of(shape.outputs / shape.groups);
  if (what.way.pass == Pass::backward_data) std::swap(summed, made);
  return {summed, made, log_of(shape.images * shape.out_height * shape.out_width),
          log_of(shape.kernel_h * shape.kernel_w), log_of(shape.stride)};
}

NearbyResiduals nearby(std::span<const Residual> residuals, const LogSizes& at, double reach) {
  NearbyResiduals sum;
  for (const Residual& residual : residuals) {
    double squares = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double distance = (at.at(i) - residual.sizes.at(i)) / reach;
      squares += distance * distance;
    }
    const double weight = residual.importance * std::exp(-squares / 2);
    sum.weight += weight;
    sum.weighted += weight * residual.value;
  }
  return sum;
}

}  // namespace dlscale::model
