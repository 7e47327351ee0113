#include <algorithm>
#include <utility>

#include "core/convolution/spectra.hpp"
#include "core/convolution/stages.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::convolution {
namespace {

struct Spectral {
  SpectralSizes sizes;
  SpectralBlocks blocks;
  SpectralTraffic traffic;
  double groups;
  double frequencies;
  bool ours;            ///< Blocking::ours
  bool own_transforms;  ///< false for a library's transforms, whose executed operations are unknown
};

enum class Direction { forward, inverse };

/// An operand or the result: rows × lanes of planes, transformed in blocks of `block` lanes.
struct Operand {
  std::int64_t planes;  ///< transformed planes; repeated transforms of a block count again
  double pixels;        ///< tensor elements read or written by all transforms
  std::int64_t rows;    ///< nonzero rows per plane; the others are not transformed
  std::int64_t lanes, block;
  std::int64_t held;  ///< planes whose spectra are in memory at once
};

/// Transformed lanes per lane in use: lanes of a block are filled up to whole batches.
double filling(const Operand& operand, std::int64_t batch) {
  const auto [all, block] = std::pair(operand.lanes, operand.block);
  const std::int64_t filled = all / block * round_up(block, batch) + round_up(all % block, batch);
  return static_cast<double>(filled) / static_cast<double>(all);
}

/// Vector operations of a plane's transform, by transform_flops() without rows of zeros. A row with
/// elements counts half of a column, which is complex; only half of the columns count.
double vector_flops(const Spectral& work, std::int64_t rows) {
  const auto L = static_cast<double>(work.sizes.L);
  const double share = static_cast<double>(std::min(round_up(rows, 2), work.sizes.L)) / L;
  return 0.5 * transform_flops(work.sizes.L) * (share + (L + 2) / L);
}

/// Operations that our transform of a plane executes. Rows with elements are transformed in pairs,
/// as re and im of one line. Of the columns, only the half that is not a conjugate is transformed.
double executed_flops(std::int64_t L, std::int64_t rows, Direction direction) {
  const auto pairs = static_cast<double>(std::min(round_up(rows, 2), L) / 2);
  // Separates or combines two spectra: 8 operations per point of half a spectrum, or fewer where a
  // point is its own mirror image.
  const auto apart = static_cast<double>(direction == Direction::forward ? 4 * L + 8 : 4 * L);
  return pairs * (line_flops(L) + apart) + static_cast<double>(L / 2 + 1) * line_flops(L);
}

Stage spectral_transform(const Spectral& work, std::string_view name, Direction direction,
                         const Operand& operand) {
  const double count = work.groups * static_cast<double>(operand.planes);
  const double flops = work.own_transforms ? executed_flops(work.sizes.L, operand.rows, direction)
                                           : transform_flops(work.sizes.L);
  const double filled = count * filling(operand, work.blocks.batch);
  const bool skips_zeros = work.own_transforms || !work.ours;
  const std::int64_t rows = skips_zeros ? operand.rows : work.sizes.L;
  return {.name = name,
          .kind = StageKind::transform,
          .flops = Flops(count * flops),
          .bytes = floats(operand.pixels + count * 2 * work.frequencies),
          .working_set = floats(2 * work.frequencies * static_cast<double>(operand.held)),
          .scratch = work.ours ? floats(count * 2 * work.frequencies) : Bytes(),
          .vector_flops = Flops(filled * vector_flops(work, rows)),
          .runs = filled / static_cast<double>(work.blocks.batch)};
}

/// Writes [-Âi; Âr] beside Â, at every frequency before its products.
Stage rotation(const Spectral& work) {
  const auto [L, groups, q, i, j] = work.sizes;
  const auto blocks_of_j = static_cast<double>((j + work.blocks.j - 1) / work.blocks.j);
  const double elements = work.groups * work.frequencies * 2 * static_cast<double>(q * i);
  return {.name = "rotated spectra",
          .kind = StageKind::copy,
          .flops = Flops(),
          .bytes = floats(2 * elements * blocks_of_j),
          .working_set = floats(4 * static_cast<double>(work.blocks.q * work.blocks.i)),
          .scratch = floats(elements * blocks_of_j),
          .runs = work.groups * work.frequencies * static_cast<double>(work.traffic.products)};
}

/// Each complex product is two real ones: m × n × 2k. Shared operands are read from memory once.
Stage spectral_products(const Spectral& work) {
  std::vector<Products> products;
  const auto each = [](std::int64_t all, std::int64_t block, const auto& visit) {
    if (all / block > 0) visit(block, all / block);
    if (all % block > 0) visit(all % block, std::int64_t{1});
  };
  each(work.sizes.q, work.blocks.q, [&](std::int64_t q, std::int64_t q_count) {
    each(work.sizes.i, work.blocks.i, [&](std::int64_t i, std::int64_t i_count) {
      each(work.sizes.j, work.blocks.j, [&](std::int64_t j, std::int64_t j_count) {
        const auto count = static_cast<double>(q_count * i_count * j_count);
        products.push_back({static_cast<double>(i), static_cast<double>(j),
                            2 * static_cast<double>(q),
                            2 * work.groups * work.frequencies * count});
      });
    });
  });
  // Both parts of the result are read as well, except for the first block of q.
  const auto blocks_of_q = static_cast<double>((work.sizes.q + work.blocks.q - 1) / work.blocks.q);
  const double result = 2 * static_cast<double>(work.sizes.i * work.sizes.j);
  Stage stage =
      product_stage(products, work.groups * work.frequencies * result * (blocks_of_q - 1));
  if (work.ours) {
    stage.scratch =
        floats(2 * work.groups * work.frequencies * static_cast<double>(work.traffic.moved));
  }
  return stage;
}

/// Elements that the transforms of a tensor of `elements` read if its planes are transformed
/// `planes` instead of `least` times; the overlap of tiles is neglected.
double pixels(double elements, std::int64_t planes, std::int64_t least) {
  return elements * static_cast<double>(planes) / static_cast<double>(least);
}

/// Floats of a thread's transform; a library needs all planes and their spectra.
std::int64_t transform_floats(const Spectral& work) {
  const auto [L, batch] = std::pair(work.sizes.L, work.blocks.batch);
  return work.own_transforms ? transform_workspace_floats(L, batch)
                             : (L * L + 2 * frequencies(L)) * batch;
}

Bytes our_spectral_workspace(const Spectral& work, int threads) {
  const std::int64_t rotated = round_up(2 * work.blocks.a().im(), most_lanes);
  const std::int64_t transform = transform_floats(work);
  return floats(frequencies(work.sizes.L) * work.blocks.floats() + threads * (rotated + transform));
}

SpectralBlocks blocks_of(const SpectralSizes& sizes, const WorkSetting& setting) {
  if (setting.blocking == Blocking::whole) return {sizes.q, sizes.i, sizes.j, 1};
  return choose_blocks(sizes, setting.vector_floats, spectra_limit_bytes);
}

/// Elements of a tensor, and the number of nonzero rows in its planes.
struct Tensor {
  double elements;
  std::int64_t rows;
};

/// Tensors whose transforms are Â, B̂ and the result.
struct Tensors {
  Tensor a, b, result;
};

/// Interior tiles of overlap_save have all L rows of an overlapping tensor, and fewer rows of the
/// others.
Tensors tensors_of(const ConvolutionShape& shape, Pass pass, const TileChoice& tile) {
  const std::int64_t step = tile.L - shape.kernel_h + 1;
  const bool back = pass == Pass::backward_data;
  const auto rows = [&](std::int64_t height, bool overlaps) {
    if (tile.tiling == Tiling::whole) return height;
    return std::min(height, overlaps ? tile.L : step);
  };
  const Tensor w{shape.weight_elements(), shape.kernel_h};
  const Tensor x{shape.input_elements(), rows(shape.height, !back)};
  const Tensor y{shape.output_elements(), rows(shape.out_height, back)};
  if (pass == Pass::forward) return {w, x, y};
  return back ? Tensors{w, y, x} : Tensors{y, x, w};
}

}  // namespace

AlgorithmWork spectral_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting) {
  const TileChoice tile = transforms_images(method)
                              ? TileChoice{points_for_whole(shape), Tiling::whole}
                              : choose_tile(shape, pass);
  const SpectralSizes sizes = spectral_sizes(shape, pass, tile.L, tile.tiling);
  const SpectralBlocks blocks = blocks_of(sizes, setting);
  const Spectral work{.sizes = sizes,
                      .blocks = blocks,
                      .traffic = spectral_traffic(sizes, blocks),
                      .groups = static_cast<double>(sizes.groups),
                      .frequencies = static_cast<double>(frequencies(sizes.L)),
                      .ours = setting.blocking == Blocking::ours,
                      .own_transforms = setting.blocking == Blocking::ours && !by_library(method)};
  const auto [a, b, c] = tensors_of(shape, pass, tile);
  const auto& [planes_a, planes_b, planes_result, moved, count] = work.traffic;
  AlgorithmWork result;
  result.stages = {spectral_transform(work, "transform of Â", Direction::forward,
                                      {planes_a, pixels(a.elements, planes_a, sizes.q * sizes.i),
                                       a.rows, sizes.i, blocks.i, blocks.q * blocks.i}),
                   spectral_transform(work, "transform of B̂", Direction::forward,
                                      {planes_b, pixels(b.elements, planes_b, sizes.q * sizes.j),
                                       b.rows, sizes.j, blocks.j, blocks.q * blocks.j}),
                   spectral_products(work),
                   spectral_transform(work, "inverse transform", Direction::inverse,
                                      {planes_result, c.elements, c.rows, sizes.j, blocks.j,
                                       blocks.i * blocks.j})};
  if (work.ours) {
    result.stages.insert(result.stages.begin() + 2, rotation(work));
  }
  const double whole = static_cast<double>(planes_a + planes_b + planes_result);
  result.workspace = work.ours ? our_spectral_workspace(work, setting.threads)
                               : floats(work.groups * whole * 2 * work.frequencies);
  return result;
}

}  // namespace dlscale::convolution
