// Work of the backend cuda (backend/compute/cuda/transforms): every stage is a separate kernel, or
// a call of cuBLASLt or cuFFT, over one block of tiles at a time.
#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"
#include "core/convolution/stages.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::convolution {
namespace {

/// A pass as products at a number of points: products of filters, K × C of a group, with tiles of C
/// or K channels, or of the tiles with each other.
struct Points {
  Pass pass;
  Index points;   ///< matrices of each operand
  Index numbers;  ///< floats per point: 2 for complex numbers
  Index groups, C, K;
  EvenBlocks blocks;

  [[nodiscard]] Index filters() const { return groups * K * C; }
  [[nodiscard]] Index floats_of(Index elements) const { return points * numbers * elements; }
};

Points points_of(const ConvolutionShape& shape, Pass pass, Index points, Index numbers,
                 Index tiles) {
  const Index bytes = points * numbers * static_cast<Index>(sizeof(float));
  // For channels-last tensors; otherwise blocks are rounded up to four tiles.
  constexpr Index unit = 1;
  return {pass,
          points,
          numbers,
          shape.groups,
          shape.channels / shape.groups,
          shape.outputs / shape.groups,
          even_blocks(tiles, bytes * (shape.channels + shape.outputs), unit, device_block_bytes)};
}

/// 8 operations per complex product, as many as two real ones of twice the depth.
Stage device_products(const Points& work) {
  const double C = as_double(work.C), K = as_double(work.K), T = as_double(work.blocks.size);
  const bool gradient = work.pass == Pass::backward_filter;
  const double m = work.pass == Pass::backward_data || gradient ? C : K;
  const double n = gradient ? K : T;
  const double k = gradient ? T : work.pass == Pass::forward ? C : K;
  const double count = as_double(work.groups * work.points * work.blocks.count);
  const double numbers = as_double(work.numbers);
  Stage stage = product_stage({{m, n, numbers * k, numbers * count}});
  const double elements = numbers * (m * k + k * n + m * n);
  // Blocks after the first accumulate, so their results are read as well.
  const double added = gradient ? count - as_double(work.groups * work.points) : 0;
  stage.bytes = floats(elements * count + numbers * m * n * added);
  stage.working_set = floats(elements);
  return stage;
}

/// Bytes of scratch memory; each piece is a multiple of 256 bytes.
Bytes scratch(std::initializer_list<Index> pieces) {
  constexpr Index unit = 256 / sizeof(float);
  Index sum = 0;
  for (const Index piece : pieces) sum += round_up(piece, unit);
  return floats(sum);
}

/// Transforms tensors of `plain` elements in total to `count` times alpha² floats, or back.
Stage winograd_transform(const Points& work, std::string_view name, Index count, double plain,
                         double flops, Index held) {
  return {.name = name,
          .kind = StageKind::transform,
          .flops = Flops(as_double(count) * flops),
          .bytes = floats(plain + as_double(work.floats_of(count))),
          .working_set = floats(work.floats_of(held)),
          .vector_flops = Flops(as_double(count) * flops)};
}

AlgorithmWork winograd_on_device(int m, const ConvolutionShape& shape, Pass pass) {
  const bool back = pass == Pass::backward_data;
  const TileGrid grid =
      tile_grid(m, back ? shape.height : shape.out_height, back ? shape.width : shape.out_width);
  const Index alpha = m + 2;
  const Points work =
      points_of(shape, pass, alpha * alpha, 1, shape.images * grid.rows * grid.columns);
  const TransformFlops flops = device_transform_flops(m);
  const Index of_x = work.blocks.size * shape.channels, of_y = work.blocks.size * shape.outputs;
  const Index blocks = work.blocks.count, filters = work.filters();
  const double x = shape.input_elements(), y = shape.output_elements();
  const auto stage = [&](std::string_view name, Index each, double plain, double flops_of_each) {
    return winograd_transform(work, name, blocks * each, plain, flops_of_each, each);
  };
  const auto filter_stage = [&](double flops_of_each) {
    return winograd_transform(work, "filter transform", filters, 9 * as_double(filters),
                              flops_of_each, filters);
  };
  AlgorithmWork result;
  if (pass == Pass::backward_filter) {
    result.stages = {stage("input transform", of_x, x, flops.data),
                     stage("gradient transform", of_y, y, flops.gradient), device_products(work),
                     filter_stage(flops.filter_gradient)};
  } else {
    result.stages = {filter_stage(flops.filter),
                     stage("input transform", back ? of_y : of_x, back ? y : x, flops.data),
                     device_products(work),
                     stage("output transform", back ? of_x : of_y, back ? x : y, flops.output)};
  }
  result.workspace = scratch({work.floats_of(filters), work.floats_of(of_x), work.floats_of(of_y)});
  return result;
}

/// Planes of tensors that are transformed: the wanted number and the transformed number, since each
/// call takes a whole batch.
struct Planes {
  double elements = 0;  ///< elements of the tensors
  double wanted = 0;
  double transformed = 0;
};

class SpectralStages {
 public:
  SpectralStages(Index L, Index batch) : L_(L), batch_(batch) {}

  /// `planes` planes of a tensor, transformed `times` times.
  [[nodiscard]] Planes planes(double elements, Index planes, Index times) const {
    const Index calls = (planes + batch_ - 1) / batch_;
    return {elements, as_double(planes * times), as_double(calls * batch_ * times)};
  }

  /// Moves images, filters or results to or from planes.
  void add_move(AlgorithmWork& work, std::string_view name, const Planes& of) const {
    work.stages.push_back(
        copy(name, of.elements + as_double(L_ * L_) * of.wanted, as_double(batch_ * L_ * L_)));
  }
  void add_transforms(AlgorithmWork& work, std::string_view name, const Planes& of) const {
    const double floats_of_each = as_double(L_ * L_ + 2 * frequencies(L_));
    work.stages.push_back({.name = name,
                           .kind = StageKind::transform,
                           .flops = Flops(transform_flops(L_) * of.transformed),
                           .bytes = floats(floats_of_each * of.transformed),
                           .working_set = floats(floats_of_each * as_double(batch_)),
                           .vector_flops = Flops(transform_flops(L_) * of.transformed)});
  }
  /// Transposes between spectra and matrices.
  void add_transposition(AlgorithmWork& work, std::string_view name, const Planes& of) const {
    const double spectrum = as_double(2 * frequencies(L_));
    work.stages.push_back(copy(name, 2 * spectrum * of.wanted, spectrum * as_double(batch_)));
  }

 private:
  static Stage copy(std::string_view name, double moved, double held) {
    return {.name = name,
            .kind = StageKind::copy,
            .flops = Flops(),
            .bytes = floats(moved),
            .working_set = floats(held)};
  }

  Index L_;
  Index batch_;
};

Planes sum(const Planes& a, const Planes& b) {
  return {a.elements + b.elements, a.wanted + b.wanted, a.transformed + b.transformed};
}

AlgorithmWork spectral_on_device(Method method, const ConvolutionShape& shape, Pass pass) {
  const TileChoice tile = method == Method::fft
                              ? TileChoice{points_for_whole_on_device(shape), Tiling::whole}
                              : choose_tile(shape, pass);
  const auto along = [&](Index input, Index kernel, Index output) {
    return tiles_along(input, kernel, output, pass, tile.L, tile.tiling);
  };
  const Index tiles = shape.images * along(shape.height, shape.kernel_h, shape.out_height) *
                      along(shape.width, shape.kernel_w, shape.out_width);
  const Points work = points_of(shape, pass, frequencies(tile.L), 2, tiles);
  const Index most = std::max(work.filters(), tiles * std::max(shape.channels, shape.outputs));
  const Index batch = planes_together(tile.L, most, device_batch_bytes);
  const SpectralStages stages(tile.L, batch);
  const Index of_x = work.blocks.size * shape.channels, of_y = work.blocks.size * shape.outputs;
  const Planes x = stages.planes(shape.input_elements(), of_x, work.blocks.count);
  const Planes y = stages.planes(shape.output_elements(), of_y, work.blocks.count);
  const Planes w = stages.planes(shape.weight_elements(), work.filters(), 1);
  const bool gradient = pass == Pass::backward_filter;
  const Planes read = gradient ? sum(x, y) : sum(w, pass == Pass::forward ? x : y);
  const Planes written = gradient ? w : pass == Pass::forward ? y : x;
  AlgorithmWork result;
  stages.add_move(result, "tensors to planes", read);
  stages.add_transforms(result, "transforms", read);
  stages.add_transposition(result, "spectra to matrices", read);
  result.stages.push_back(device_products(work));
  stages.add_transposition(result, "matrices to spectra", written);
  stages.add_transforms(result, "inverse transforms", written);
  stages.add_move(result, "planes to tensors", written);
  result.workspace =
      scratch({work.floats_of(work.filters()), work.floats_of(of_x), work.floats_of(of_y),
               batch * tile.L * tile.L, batch * 2 * frequencies(tile.L)});
  return result;
}

}  // namespace

AlgorithmWork device_work(Method method, const ConvolutionShape& shape, Pass pass) {
  if (method == Method::fft || method == Method::fft_tiled) {
    return spectral_on_device(method, shape, pass);
  }
  return winograd_on_device(winograd_outputs(method), shape, pass);
}

}  // namespace dlscale::convolution
