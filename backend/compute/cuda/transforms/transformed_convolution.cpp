#include "backend/compute/cuda/transforms/transformed_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.hpp"
#include "core/convolution/method.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

/// Where tiles are consecutive, blocks are multiples of four, so that a library can load four
/// numbers at once from the beginning of a channel.
constexpr std::int64_t tile_unit(Arrangement arrangement) {
  return arrangement == Arrangement::by_tile ? 1 : 4;
}

}  // namespace

void expect_countable(const ConvolutionProblem& problem, std::int64_t most) {
  if (most <= std::int64_t{1} << 30) return;
  throw Unsupported(
      fmt::format("{}: {} tiles or filters, and the kernels count to 2^30.", problem.what, most));
}

TransformedConvolution::TransformedConvolution(const ConvolutionProblem& problem, Pass pass,
                                               std::unique_ptr<const Transforms> transforms,
                                               const MakeProduct& make, const Limits& limits)
    : pass_(pass),
      transforms_(std::move(transforms)),
      sizes_(sizes_of(problem, limits.block)),
      product_(make_product(problem, make, limits.scratch)) {
  EXPECT(pass != Pass::accumulate);
}

std::unique_ptr<BatchedProduct> TransformedConvolution::make_product(
    const ConvolutionProblem& problem, const MakeProduct& make, std::size_t most_scratch) const {
  if (transformed_bytes() <= most_scratch) return make(product_problem(problem));
  throw Unsupported(fmt::format("{}: {} works in {} MiB: it gets {}.", problem.what,
                                transforms_->name(), transformed_bytes() >> 20,
                                most_scratch >> 20));
}

void TransformedConvolution::expect_offered(const ConvolutionProblem& problem) const {
  if (problem.groups > convolution::most_device_groups) {
    throw Unsupported(fmt::format(
        "{}: {} groups: our transforms multiply group by group and take up to {} of them.",
        problem.what, problem.groups, convolution::most_device_groups));
  }
  const std::size_t filters = bytes(problem.weights[0] * problem.weights[1]);
  if (filters <= filter_limit) return;
  throw Unsupported(fmt::format("{}: the filters transformed by {} would take {} MiB: they get {}.",
                                problem.what, transforms_->name(), filters >> 20,
                                filter_limit >> 20));
}

TransformedConvolution::Sizes TransformedConvolution::sizes_of(const ConvolutionProblem& problem,
                                                               std::int64_t limit) const {
  expect_offered(problem);
  const std::int64_t groups = problem.groups;
  const std::int64_t inputs = problem.input[1] / groups;
  const std::int64_t outputs = problem.output[1] / groups;
  const auto bytes_of_tile = static_cast<std::int64_t>(bytes(groups * (inputs + outputs)));
  const auto [size, count] = convolution::even_blocks(transforms_->tiles(), bytes_of_tile,
                                                      tile_unit(transforms_->arrangement()), limit);
  return {groups, inputs, outputs, size, count};
}

std::size_t TransformedConvolution::bytes(std::int64_t elements) const {
  return static_cast<std::size_t>(transforms_->points() * elements) *
         number_bytes(transforms_->number());
}

std::size_t TransformedConvolution::filter_bytes() const {
  return aligned(bytes(sizes_.groups * sizes_.outputs * sizes_.inputs));
}

std::size_t TransformedConvolution::tile_bytes(std::int64_t channels) const {
  return aligned(bytes(sizes_.block * sizes_.groups * channels));
}

std::string TransformedConvolution::name() const {
  return transforms_->name() + " " + product_->name();
}

std::size_t TransformedConvolution::transformed_bytes() const {
  return filter_bytes() + tile_bytes(sizes_.inputs) + tile_bytes(sizes_.outputs) +
         transforms_->scratch_bytes();
}

std::size_t TransformedConvolution::scratch_bytes() const {
  return transformed_bytes() + aligned(product_->scratch_bytes());
}

TransformedConvolution::Places TransformedConvolution::places(std::byte* scratch) const {
  std::byte* const inputs = scratch + filter_bytes();
  std::byte* const outputs = inputs + tile_bytes(sizes_.inputs);
  std::byte* const product = outputs + tile_bytes(sizes_.outputs);
  return {reinterpret_cast<float*>(scratch), reinterpret_cast<float*>(inputs),
          reinterpret_cast<float*>(outputs), product, product + aligned(product_->scratch_bytes())};
}

TileBlock TransformedConvolution::block(std::int64_t number) const {
  return {number * sizes_.block, sizes_.block};
}

std::int64_t TransformedConvolution::filter_step() const {
  return sizes_.outputs * sizes_.inputs;
}

std::int64_t TransformedConvolution::tile_step(std::int64_t channels) const {
  return channels * (transforms_->arrangement() == Arrangement::by_tile ? 1 : sizes_.block);
}

/// A matrix [tile][channel] is channels × tiles in column-major order. So are results with
/// consecutive channels: Yᵀ = W Xᵀ.
BatchedProblem TransformedConvolution::product_problem(const ConvolutionProblem& problem) const {
  const std::int64_t C = sizes_.inputs;
  const std::int64_t K = sizes_.outputs;
  const bool by_tile = transforms_->arrangement() == Arrangement::by_tile;
  const auto tiles = [this, by_tile](std::int64_t channels, Form form) -> Matrices {
    const std::int64_t T = sizes_.block;
    const std::int64_t all = sizes_.groups * channels;
    if (by_tile) return {channels, T, all, all * T, form};
    return {T, channels, T, all * T, form};
  };
  const Matrices filters{C, K, C, sizes_.groups * K * C};
  BatchedProblem made{.what = problem.what,
                      .number = transforms_->number(),
                      .factors = transforms_->factors(),
                      .count = transforms_->points(),
                      .left = filters,
                      .right = filters,
                      .result = filters};
  const Form turned = by_tile ? Form::plain : Form::transposed;
  if (pass_ == Pass::backward_filter) {  // dWᵀ = Xᵀ conj(dY)
    made.left = tiles(C, turned);
    made.right = tiles(K, by_tile ? Form::adjoint : Form::plain);
  } else {
    const bool forward = pass_ == Pass::forward;
    Matrices& of_tiles = by_tile ? made.right : made.left;
    Matrices& of_filters = by_tile ? made.left : made.right;
    of_tiles = tiles(forward ? C : K, Form::plain);
    if (forward == by_tile) of_filters.form = Form::adjoint;
    made.result = tiles(forward ? K : C, Form::plain);
  }
  made.alignment = alignment_of(made);
  return made;
}

std::uint32_t TransformedConvolution::alignment_of(const BatchedProblem& problem) const {
  const std::array steps{filter_step(),         tile_step(sizes_.inputs), tile_step(sizes_.outputs),
                         problem.left.distance, problem.right.distance,   problem.result.distance};
  const bool by_fours =
      std::all_of(steps.begin(), steps.end(), [](std::int64_t step) { return step % 4 == 0; });
  return by_fours ? 16 : static_cast<std::uint32_t>(number_bytes(problem.number));
}

void TransformedConvolution::multiply(const Places& places, Sum sum) const {
  const std::int64_t floats = transforms_->number() == Number::real ? 1 : 2;
  const bool by_tile = transforms_->arrangement() == Arrangement::by_tile;
  for (std::int64_t group = 0; group < sizes_.groups; ++group) {
    float* const w = places.filters + group * filter_step() * floats;
    float* const x = places.inputs + group * tile_step(sizes_.inputs) * floats;
    float* const y = places.outputs + group * tile_step(sizes_.outputs) * floats;
    if (pass_ == Pass::backward_filter) {
      product_->run(x, y, w, sum, places.product);
    } else {
      const float* const tiles = pass_ == Pass::forward ? x : y;
      float* const result = pass_ == Pass::forward ? y : x;
      product_->run(by_tile ? w : tiles, by_tile ? tiles : w, result, sum, places.product);
    }
  }
}

void TransformedConvolution::run(const ConvolutionMemory& memory, std::byte* scratch) const {
  const Places at = places(scratch);
  switch (pass_) {
    case Pass::forward:
      return run_correlation(memory.input, memory.weights, memory.output, at);
    case Pass::backward_data:
      return run_correlation(memory.output, memory.weights, memory.input, at);
    case Pass::backward_filter:
      return run_gradient(memory, at);
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass is one of a convolution");
}

void TransformedConvolution::run_correlation(const std::byte* from, const std::byte* weights,
                                             std::byte* to, const Places& places) const {
  const bool forward = pass_ == Pass::forward;
  float* const read = forward ? places.inputs : places.outputs;
  float* const written = forward ? places.outputs : places.inputs;
  transforms_->read_filters(weights, places.filters, places.transform);
  for (std::int64_t i = 0; i < sizes_.blocks; ++i) {
    transforms_->read_tiles(from, block(i), read, places.transform);
    multiply(places, Sum::set);
    transforms_->write_tiles(written, block(i), to, places.transform);
  }
}

void TransformedConvolution::run_gradient(const ConvolutionMemory& memory,
                                          const Places& places) const {
  for (std::int64_t i = 0; i < sizes_.blocks; ++i) {
    transforms_->read_tiles(memory.input, block(i), places.inputs, places.transform);
    transforms_->read_gradients(memory.output, block(i), places.outputs, places.transform);
    multiply(places, i == 0 ? Sum::set : Sum::add);
  }
  transforms_->write_filters(places.filters, memory.weights, places.transform);
}

}  // namespace dlscale::backend::cuda::transforms
