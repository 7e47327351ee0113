#include "backend/compute/cuda/transforms/spectral_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "backend/compute/cuda/transforms/fourier_transform.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

using image_tiling::Axis, image_tiling::Tiling;

/// Blocks may end beyond the last tile, and all that is counted stays below 2^31.
constexpr std::int64_t most_counted = std::int64_t{1} << 30;
constexpr std::array<std::int64_t, 3> tile_points{8, 16, 32};

Axis axis(const ConvolutionProblem& problem, std::size_t dimension) {
  return {problem.input[dimension], problem.weights[dimension], problem.output[dimension],
          problem.pad};
}

std::int64_t least_points(const ConvolutionProblem& problem) {
  return std::max(image_tiling::least_points(axis(problem, 2)),
                  image_tiling::least_points(axis(problem, 3)));
}

/// cuFFT is fastest for products of 2, 3, 5 and 7 (its manual, "Accuracy and Performance").
bool is_fast(std::int64_t L) {
  for (const std::int64_t prime : {2, 3, 5, 7}) {
    while (L % prime == 0) L /= prime;
  }
  return L == 1;
}

std::int64_t fast_points(std::int64_t least) {
  std::int64_t L = std::max<std::int64_t>(4, least + least % 2);
  while (!is_fast(L)) L += 2;
  return L;
}

void expect_offered(const ConvolutionProblem& problem, Pass pass) {
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
                            .tile_rows = y.tiles,
                            .tile_columns = x.tiles,
                            .weights = {problem.weights, y.w, x.w},
                            .input = {problem.input, y.x, x.x},
                            .output = {problem.output, y.y, x.y},
                            .dtype = problem.dtype};
  const std::int64_t most = std::max(shape.tiles(), problem.weights[0] * problem.weights[1]);
  if (most <= most_counted) return shape;
  throw Unsupported(
      fmt::format("{}: {} tiles or filters, and the kernels count to 2^30.", problem.what, most));
}

}  // namespace

SpectralShape whole_shape(const ConvolutionProblem& problem, Pass pass) {
  expect_offered(problem, pass);
  const std::int64_t L = fast_points(least_points(problem));
  if (L <= most_points) return make_shape(problem, pass, L, Tiling::whole);
  throw Unsupported(fmt::format(
      "{}: images that need {} points each way: fft has at most {}; fft_tiled has no such limit.",
      problem.what, L, most_points));
}

SpectralShape tiled_shape(const ConvolutionProblem& problem, Pass pass) {
  expect_offered(problem, pass);
  std::optional<SpectralShape> best;
  for (const std::int64_t L : tile_points) {
    if (L < std::max(problem.weights[2], problem.weights[3])) continue;
    const Tiling tiling = L < least_points(problem) ? Tiling::overlap_save : Tiling::whole;
    const SpectralShape shape = make_shape(problem, pass, L, tiling);
    if (!best || spectral_operations(shape) < spectral_operations(*best)) best = shape;
  }
  if (best) return *best;
  throw Unsupported(fmt::format("{}: kernel {} x {}: the tiles of fft_tiled are {} x {}.",
                                problem.what, problem.weights[2], problem.weights[3],
                                tile_points.back(), tile_points.back()));
}

Factors spectral_factors(DType dtype) {
  return dtype == DType::f32 ? Factors::f32 : Factors::tf32;
}

double spectral_operations(const SpectralShape& shape) {
  const auto points = static_cast<double>(shape.L * shape.L);
  const std::int64_t filters = shape.weights.dims[0] * shape.weights.dims[1];
  const std::int64_t planes =
      shape.tiles() * (shape.input.dims[1] + shape.output.dims[1]) + filters;
  return 2.5 * points * std::log2(points) * static_cast<double>(planes) +
         8 * static_cast<double>(filters) *
             static_cast<double>(frequencies(shape.L) * shape.tiles());
}

}  // namespace dlscale::backend::cuda::transforms
