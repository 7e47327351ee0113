#include "backend/compute/cuda/transforms/spectral_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/compute/cuda/transforms/transformed_convolution.hpp"
#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

using image_tiling::Axis, image_tiling::Tiling;

Axis axis(const ConvolutionProblem& problem, std::size_t dimension) {
  return {problem.input[dimension], problem.weights[dimension], problem.output[dimension],
          problem.pad};
}

void expect_spectral_shape(const ConvolutionProblem& problem, Pass pass) {
  EXPECT(pass != Pass::accumulate);
  if (problem.stride == 1) return;
  throw Unsupported(
      fmt::format("{}: stride {}: FFT needs 1, as it computes every output and would discard most.",
                  problem.what, problem.stride));
}

SpectralShape make_shape(const ConvolutionProblem& problem, Pass pass, std::int64_t L,
                         Tiling tiling) {
  const auto y = image_tiling::cut(axis(problem, 2), pass, L, tiling);
  const auto x = image_tiling::cut(axis(problem, 3), pass, L, tiling);
  const SpectralShape shape{.pass = pass,
                            .L = L,
                            .tiling = tiling,
                            .tile_rows = y.tiles,
                            .tile_columns = x.tiles,
                            .weights = {problem.weights, y.w, x.w},
                            .input = {problem.input, y.x, x.x},
                            .output = {problem.output, y.y, x.y},
                            .dtype = problem.dtype};
  const std::int64_t most = std::max(shape.tiles(), problem.weights[0] * problem.weights[1]);
  expect_countable(problem, most);
  return shape;
}

}  // namespace

SpectralShape whole_shape(const ConvolutionProblem& problem, Pass pass) {
  expect_spectral_shape(problem, pass);
  const std::int64_t L = convolution::points_for_whole_on_device(shape_of(problem));
  if (L <= convolution::max_transform_points) return make_shape(problem, pass, L, Tiling::whole);
  throw Unsupported(fmt::format(
      "{}: images that need {} points each way: fft has at most {}; fft_tiled takes images of any "
      "size, by tiles of {} x {}.",
      problem.what, L, convolution::max_transform_points, convolution::tile_points.back(),
      convolution::tile_points.back()));
}

SpectralShape tiled_shape(const ConvolutionProblem& problem, Pass pass) {
  expect_spectral_shape(problem, pass);
  const auto [L, tiling] = convolution::choose_tile(shape_of(problem), pass);
  if (L > 0) return make_shape(problem, pass, L, tiling);
  throw Unsupported(fmt::format("{}: kernel {} x {}: the tiles of fft_tiled are {} x {}.",
                                problem.what, problem.weights[2], problem.weights[3],
                                convolution::tile_points.back(), convolution::tile_points.back()));
}

Factors spectral_factors(DType dtype) {
  return dtype == DType::f32 ? Factors::f32 : Factors::tf32;
}

double spectral_operations(const ConvolutionProblem& problem, const SpectralShape& shape) {
  return convolution::operations(
      convolution::spectral_sizes(shape_of(problem), shape.pass, shape.L, shape.tiling));
}

}  // namespace dlscale::backend::cuda::transforms
