#include "backend/compute/cuda/transforms/winograd_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/compute/cuda/transforms/transformed_convolution.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

void expect_winograd_shape(const ConvolutionProblem& problem) {
  if (problem.weights[2] != 3 || problem.weights[3] != 3) {
    throw Unsupported(fmt::format("{}: kernel {} x {}: our Winograd convolution is for 3 x 3.",
                                  problem.what, problem.weights[2], problem.weights[3]));
  }
  if (problem.stride != 1) {
    throw Unsupported(
        fmt::format("{}: stride {}: Winograd needs 1.", problem.what, problem.stride));
  }
}

Plane plane_of(const Dims& dims) {
  return {dims[1], dims[2], dims[3]};
}

std::int64_t tiles_of(const WinogradShape& shape, int m) {
  const auto along = [m](std::int64_t pixels) { return (pixels + m - 1) / m; };
  return shape.images * along(shape.output.height) * along(shape.output.width);
}

/// Operations of M X Mᵀ with an M of rows × columns.
double both_sides(std::int64_t rows, std::int64_t columns) {
  return 2.0 * static_cast<double>(rows * columns * (rows + columns));
}

}  // namespace

WinogradShape winograd_shape(const ConvolutionProblem& problem, Pass pass, int m) {
  expect_winograd_shape(problem);
  EXPECT(pass != Pass::accumulate);
  const Plane x = plane_of(problem.input);
  const Plane y = plane_of(problem.output);
  const bool turned = pass == Pass::backward_data;
  const WinogradShape shape{.pass = pass,
                            .images = problem.input[0],
                            .input = turned ? y : x,
                            .output = turned ? x : y,
                            .pad = turned ? 2 - problem.pad : problem.pad,
                            .filters = problem.weights[0] * problem.weights[1],
                            .filter_inputs = problem.weights[1],
                            .dtype = problem.dtype};
  const std::int64_t most = std::max(tiles_of(shape, m), shape.filters);
  expect_countable(problem, most);
  return shape;
}

std::string winograd_name(int m, Pass pass) {
  const auto [outputs, taps] = pass == Pass::backward_filter ? std::pair{3, m} : std::pair{m, 3};
  return fmt::format("winograd_f{0} F({1}x{1},{2}x{2})", m, outputs, taps);
}

Factors winograd_factors(int m, DType dtype) {
  const bool may_round = dtype == DType::bf16 || (dtype == DType::f16 && m == 2);
  return may_round ? Factors::tf32 : Factors::f32;
}

double winograd_operations(const WinogradShape& shape, int m) {
  const std::int64_t alpha = m + 2;
  const auto tiles = static_cast<double>(tiles_of(shape, m));
  const auto filters = static_cast<double>(shape.filters);
  const double inputs = static_cast<double>(shape.input.channels) * both_sides(alpha, alpha);
  const double outputs = static_cast<double>(shape.output.channels) * both_sides(m, alpha);
  return tiles * (inputs + outputs) + filters * both_sides(3, alpha) +
         2 * static_cast<double>(alpha * alpha) * tiles * filters;
}

}  // namespace dlscale::backend::cuda::transforms
