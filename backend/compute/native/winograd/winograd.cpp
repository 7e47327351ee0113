#include "backend/compute/native/winograd/winograd.hpp"

#include <string>
#include <utility>

#include "backend/compute/native/winograd/winograd_plan.hpp"
#include "core/base/error.hpp"
#include "core/convolution/method.hpp"

namespace dlscale::backend::native_device {

namespace {

/// Throws Unsupported for shapes that Winograd's algorithm does not support.
void check_shape(const ConvolutionShape& shape) {
  if (shape.kernel_h != 3 || shape.kernel_w != 3) {
    throw Unsupported("kernel " + std::to_string(shape.kernel_h) + " x " +
                      std::to_string(shape.kernel_w) + ": this Winograd convolution is for 3 x 3");
  }
  if (shape.stride != 1) {
    throw Unsupported("stride " + std::to_string(shape.stride) + ": Winograd needs 1");
  }
  if (shape.pad < 0 || shape.pad > 2) {
    throw Unsupported("pad " + std::to_string(shape.pad) + ": Winograd offers 0 to 2");
  }
  EXPECT(shape.out_height == shape.height + 2 * shape.pad - 2 && shape.out_height > 0);
  EXPECT(shape.out_width == shape.width + 2 * shape.pad - 2 && shape.out_width > 0);
  EXPECT(shape.images > 0);
  EXPECT(shape.groups > 0 && shape.channels % shape.groups == 0);
  EXPECT(shape.outputs % shape.groups == 0);
}

using convolution::Method;

std::unique_ptr<ConvolutionPass> make(Method method, const ConvolutionShape& shape, Pass pass,
                                      int threads) {
  check_shape(shape);
  EXPECT(threads >= 1);
  const int m = convolution::winograd_outputs(method);
  const winograd::Schedule schedule = convolution::winograd_schedule(method);
  switch (pass) {
    case Pass::forward:
      return winograd::make_forward(shape, m, schedule, threads);
    case Pass::backward_data:
      return winograd::make_backward_data(shape, m, schedule, threads);
    case Pass::backward_filter:
      return winograd::make_backward_filter(shape, m, schedule, threads);
    case Pass::accumulate:
      break;
  }
  throw Unsupported("a convolution has no pass " + std::string(pass_name(pass)));
}

ConvolutionAlgorithm algorithm(Method method, std::string doc) {
  return {.name = std::string(convolution::method_name(method)),
          .doc = std::move(doc),
          .make = [method](const ConvolutionShape& shape, Pass pass,
                           int threads) { return make(method, shape, pass, threads); },
          .keeps_filters = true};
}

}  // namespace

const ConvolutionAlgorithm winograd_f2 =
    algorithm(Method::winograd_f2, "Winograd F(2x2,3x3): 2.25 times fewer multiplications");
const ConvolutionAlgorithm winograd_f4 =
    algorithm(Method::winograd_f4, "Winograd F(4x4,3x3): 4 times fewer multiplications");
const ConvolutionAlgorithm winograd_f6 =
    algorithm(Method::winograd_f6,
              "Winograd F(6x6,3x3): 5.06 times fewer multiplications, the least accurate");

const ConvolutionAlgorithm winograd_f2_fused =
    algorithm(Method::winograd_f2_fused,
              "winograd_f2, each block of tiles from inputs to outputs by one thread");
const ConvolutionAlgorithm winograd_f4_fused =
    algorithm(Method::winograd_f4_fused,
              "winograd_f4, each block of tiles from inputs to outputs by one thread");
const ConvolutionAlgorithm winograd_f6_fused =
    algorithm(Method::winograd_f6_fused,
              "winograd_f6, each block of tiles from inputs to outputs by one thread");

}  // namespace dlscale::backend::native_device
