#include "backend/compute/native/algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "backend/compute/native/fft/fft_convolution.hpp"
#include "backend/compute/native/im2col.hpp"
#include "backend/compute/native/winograd/winograd.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device {

std::string describe(const ConvolutionShape& shape) {
  std::string text =
      fmt::format("{} x {} x {} x {} to {} x {} x {} by {} x {}, stride {}, pad {}", shape.images,
                  shape.channels, shape.height, shape.width, shape.outputs, shape.out_height,
                  shape.out_width, shape.kernel_h, shape.kernel_w, shape.stride, shape.pad);
  if (shape.groups > 1) text += fmt::format(", {} groups", shape.groups);
  return text;
}

void ConvolutionPass::keep(const float* /*second*/, std::byte* /*kept*/, std::byte* /*scratch*/) {
  fail_expectation("kept_bytes() > 0");
}

void ConvolutionPass::run_kept(const float* /*first*/, const std::byte* /*kept*/, float* /*result*/,
                               std::byte* /*scratch*/) {
  fail_expectation("kept_bytes() > 0");
}

std::span<const ConvolutionAlgorithm* const> own_algorithms() {
  static const std::array all{&im2col,
                              &winograd_f2,
                              &winograd_f4,
                              &winograd_f6,
                              &winograd_f2_fused,
                              &winograd_f4_fused,
                              &winograd_f6_fused,
                              &fft,
                              &fft_tiled};
  return all;
}

std::span<const ConvolutionAlgorithm* const> all_algorithms() {
  static const std::vector<const ConvolutionAlgorithm*> all = [] {
    std::vector<const ConvolutionAlgorithm*> found(own_algorithms().begin(),
                                                   own_algorithms().end());
    for (const ConvolutionAlgorithm& algorithm : fft_by_libraries()) found.push_back(&algorithm);
    return found;
  }();
  return all;
}

namespace {

/// Whether F(4x4,3x3) has few tiles. Its filters take 36 matrices where those of F(2x2,3x3) take
/// 16. On few tiles the time to transform and read these outweighs the saving in products: 36
/// multiplications for 16 outputs in place of 64.
///
/// The threshold comes from geometric means of the time of F(2x2,3x3) over that of F(4x4,3x3), of
/// (cases), by pass, in conv-4, batches, crossover and vgg16 of results/epyc-2vcpu/2026-11-22-conv
/// (most rows unstable):
///   tiles             16        32        36        64        128       196
///   forward           0.91 (6)  0.94 (3)  1.01 (3)  0.94 (14) 1.05 (3)  1.25 (5)
///   backward_data     0.96 (3)  -         0.85 (3)  0.97 (13) -         1.23 (5)
///   backward_filter   0.89 (3)  -         0.98 (3)  0.94 (13) -         1.22 (5)
/// im2col, which the rule leaves out, is slower than F(4x4,3x3) in the mean of each. All values are
/// of one thread of one machine; nothing was measured between 64 and 128 tiles, nor on several
/// threads.
bool has_few_tiles(const ConvolutionShape& shape) {
  constexpr std::int64_t few = 64;
  constexpr std::int64_t m = 4;
  const auto along = [](std::int64_t outputs) { return (outputs + m - 1) / m; };
  return shape.images * along(shape.out_height) * along(shape.out_width) <= few;
}

}  // namespace

const ConvolutionAlgorithm& usual_algorithm(const ConvolutionShape& shape) {
  constexpr std::int64_t enough = 16;
  const bool deep = std::min(shape.channels, shape.outputs) / shape.groups >= enough;
  if (!deep || shape.stride != 1) return im2col;
  if (shape.kernel_h == 3 && shape.kernel_w == 3) {
    return has_few_tiles(shape) ? winograd_f2 : winograd_f4;
  }
  return std::min(shape.kernel_h, shape.kernel_w) >= 7 ? fft_tiled : im2col;
}

}  // namespace dlscale::backend::native_device
