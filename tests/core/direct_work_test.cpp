#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "core/convolution/work.hpp"
#include "core/network/convolution_shape.hpp"

namespace dlscale::lowering {
namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

ConvolutionShape shape_of(std::string_view key, int batch) {
  return parse_convolution_key(key, batch)->shape;
}

TEST(DirectWork, LeavesOutTapsOnThePadding) {
  for (const char* key : {"convolution c64 h7 w7 k32 r11 s11 stride1 pad5 groups1",
                          "convolution c6 h9 w12 k4 r3 s5 stride2 pad2 groups2",
                          "convolution c3 h13 w5 k2 r2 s4 stride3 pad1 groups1",
                          "convolution c1 h1 w1 k1 r3 s3 stride1 pad4 groups1",
                          "convolution c5 h6 w6 k7 r1 s1 stride7 pad0 groups1"}) {
    const ConvolutionShape shape = shape_of(key, 3);
    const auto side = [&shape](std::int64_t inputs, std::int64_t taps, std::int64_t outputs) {
      double met = 0;
      for (std::int64_t output = 0; output < outputs; ++output) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t pixel = output * shape.stride + tap - shape.pad;
          met += pixel >= 0 && pixel < inputs ? 1 : 0;
        }
      }
      return met;
    };
    const double taps = side(shape.height, shape.kernel_h, shape.out_height) *
                        side(shape.width, shape.kernel_w, shape.out_width);
    const double maps = static_cast<double>(shape.images * shape.outputs) *
                        static_cast<double>(shape.channels / shape.groups);
    for (const Pass pass : passes) {
      EXPECT_DOUBLE_EQ(algorithm_work(Method::direct, shape, pass).flops().si(), 2 * maps * taps)
          << key << " " << pass_name(pass);
    }
  }
  // (47/77)² of the taps of 11 x 11 filters meet an image of 7 x 7
  const ConvolutionShape wide =
      shape_of("convolution c64 h7 w7 k64 r11 s11 stride1 pad5 groups1", 1);
  EXPECT_NEAR(algorithm_work(Method::direct, wide, Pass::forward).flops() / direct_flops(wide),
              47.0 * 47.0 / (77.0 * 77.0), 1e-12);
}

}  // namespace
}  // namespace dlscale::lowering
