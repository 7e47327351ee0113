#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/convolution/pixel_blocks.hpp"
#include "core/convolution/stages.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::convolution {
namespace {

/// Number of blocks, by their number of columns and images.
using Counts = std::map<std::pair<std::int64_t, std::int64_t>, double>;

struct Im2col {
  const ConvolutionShape& shape;
  Pass pass;
  Counts blocks;
  double rows;     ///< rows of the matrix of patches: C / groups · R · S
  double outputs;  ///< K / groups
  double groups;
  bool ours;
  std::vector<double> ranges;  ///< for backward_data: rows of a block that each product computes

  /// Columns of all blocks for which `holds`(images) is true.
  template <class Holds>
  [[nodiscard]] double columns(const Holds& holds) const {
    double sum = 0;
    for (const auto& [block, count] : blocks) {
      if (holds(block.second)) sum += static_cast<double>(block.first) * count;
    }
    return sum;
  }
  /// Columns of blocks whose patches are written out: all, unless the patches are the image. For
  /// several images, our blocks gather even those; libraries multiply them in place.
  [[nodiscard]] double written_columns() const {
    const bool pointwise = is_pointwise(shape);
    return columns([&](std::int64_t images) { return !pointwise || (ours && images > 1); });
  }
  /// Columns of blocks of several images, whose outputs are copied to or from a matrix.
  [[nodiscard]] double gathered_columns() const {
    return columns([](std::int64_t images) { return images > 1; });
  }
  [[nodiscard]] double largest() const {
    double most = 0;
    for (const auto& [block, count] : blocks) {
      most = std::max(most, static_cast<double>(block.first));
    }
    return most;
  }
};

Counts count_blocks(const ConvolutionShape& shape, Blocking blocking) {
  Counts counts;
  if (blocking == Blocking::whole) {
    counts[{shape.images * shape.out_height * shape.out_width, shape.images}] = 1;
    return counts;
  }
  for (const PixelBlock& block : cut_pixels(shape, patch_columns(shape))) {
    counts[{block.columns(shape), block.images()}] += 1;
  }
  return counts;
}

/// Rows of the matrix of patches, by ranges of channels.
std::vector<double> ranges_of(const ConvolutionShape& shape, int threads) {
  const std::vector<PixelBlock> blocks = cut_pixels(shape, patch_columns(shape));
  const Blocks ranges = channel_ranges(shape, std::ssize(image_parts(blocks)), threads);
  std::vector<double> rows;
  for (Index first = 0; first < ranges.total; first += ranges.size) {
    rows.push_back(static_cast<double>(ranges.length(first) * shape.kernel_h * shape.kernel_w));
  }
  return rows;
}

/// Number of sums in backward_filter: one per range of blocks, which a thread processes.
double sums(const Im2col& work, int threads) {
  double blocks = 0;
  for (const auto& [block, count] : work.blocks) blocks += count;
  return std::min<double>(threads, blocks);
}

Stage im2col_products(const Im2col& work, int threads) {
  std::vector<Products> products;
  double all_products = 0;
  products.reserve(work.blocks.size());
  for (const auto& [block, count] : work.blocks) {
    const auto columns = static_cast<double>(block.first);
    const double all = count * work.groups;
    all_products += all;
    switch (work.pass) {
      case Pass::forward:
        products.push_back({work.outputs, columns, work.rows, all});
        break;
      case Pass::backward_data:
        for (const double rows : work.ranges) {
          products.push_back({rows, columns, work.outputs, all});
        }
        break;
      case Pass::backward_filter:
        products.push_back({work.outputs, work.rows, columns, all});
        break;
      case Pass::accumulate:
        fail_expectation("pass is one of a convolution");
    }
  }
  const double patches = work.groups * work.rows * work.written_columns();
  if (work.pass != Pass::backward_filter) {
    Stage stage = product_stage(products);
    if (work.ours) stage.scratch = floats(patches);
    return stage;
  }
  // All products of a sum, except the first, are accumulated.
  const double adding = all_products - work.groups * sums(work, threads);
  const double result = work.outputs * work.rows;
  Stage stage = product_stage(products, adding * result);
  if (work.ours) stage.scratch = floats(patches + (all_products + adding) * result);
  return stage;
}

/// Copies patches from the image, or clears the image and adds gradients of patches to it.
Stage patch_stage(const Im2col& work) {
  const double share = work.written_columns() / work.columns([](std::int64_t) { return true; });
  const double matrix = work.groups * work.rows * work.written_columns();
  const double image = share * work.shape.input_elements();
  const bool back = work.pass == Pass::backward_data;
  return {.name = back ? "patches back" : "patches",
          .kind = StageKind::copy,
          .flops = Flops(back ? matrix : 0),
          .bytes = floats(matrix + (back ? 3 : 1) * image),
          .working_set = floats(work.rows * work.largest()),
          .scratch = floats(work.ours ? matrix : 0),
          .runs = matrix / static_cast<double>(work.shape.out_width),
          .gathered = work.shape.stride > 1 ? matrix : 0};
}

/// Sums the results of backward_filter over the ranges of blocks, one range per thread.
Stage sum_stage(const Im2col& work, int threads) {
  const double parts = sums(work, threads);
  const double weights = work.shape.weight_elements();
  return {.name = "sum of threads",
          .kind = StageKind::copy,
          .flops = Flops(parts * weights),
          .bytes = floats((3 * parts + 1) * weights),
          .working_set = floats(2 * weights),
          .scratch = floats(parts * weights)};
}

Bytes our_im2col_workspace(const Im2col& work, int threads) {
  const auto whole_lines = [](double elements) {
    return static_cast<double>(round_up(static_cast<Index>(elements), most_lanes));
  };
  const double own =
      work.pass == Pass::backward_filter ? whole_lines(work.shape.weight_elements()) : 0;
  const PixelBlock largest = cut_pixels(work.shape, patch_columns(work.shape)).front();
  const auto [patches, outputs] = held_matrices(work.shape, largest);
  return floats(threads * (whole_lines(static_cast<double>(patches + outputs)) + own));
}

}  // namespace

AlgorithmWork im2col_work(const ConvolutionShape& shape, Pass pass, const WorkSetting& setting) {
  const auto groups = static_cast<double>(shape.groups);
  const bool ours = setting.blocking == Blocking::ours;
  const Im2col work{.shape = shape,
                    .pass = pass,
                    .blocks = count_blocks(shape, setting.blocking),
                    .rows = static_cast<double>(shape.taps()),
                    .outputs = static_cast<double>(shape.outputs) / groups,
                    .groups = groups,
                    .ours = ours,
                    .ranges = ranges_of(shape, ours ? setting.threads : 1)};
  AlgorithmWork result;
  if (work.written_columns() > 0) result.stages.push_back(patch_stage(work));
  if (ours && work.gathered_columns() > 0) {
    const double elements = groups * work.outputs * work.gathered_columns();
    const auto pixels = static_cast<double>(shape.out_height * shape.out_width);
    result.stages.push_back({.name = "outputs of several images",
                             .kind = StageKind::copy,
                             .flops = Flops(),
                             .bytes = floats(2 * elements),
                             .working_set = floats(work.outputs * work.largest()),
                             .scratch = floats(elements),
                             .runs = elements / pixels});
  }
  result.stages.push_back(im2col_products(work, ours ? setting.threads : 1));
  if (ours && pass == Pass::backward_filter) {
    result.stages.push_back(sum_stage(work, setting.threads));
  }
  const double matrix = is_pointwise(shape) ? 0 : work.rows * work.largest();
  result.workspace = ours ? our_im2col_workspace(work, setting.threads) : floats(matrix);
  return result;
}

}  // namespace dlscale::convolution
