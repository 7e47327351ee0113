#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/convolution/stages.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::convolution {
namespace {

/// Sizes of a pass per group: it computes `outputs` planes from `inputs` planes (for
/// backward_filter: C and K).
struct Sizes {
  Index m, alpha;
  Schedule schedule;
  Index groups, inputs, outputs;
  Index tiles;           ///< tiles of all images
  double read, written;  ///< elements per channel: of the input, of the output
  Blocks tile_blocks;
  Blocks channel_blocks;  ///< blocks of the outputs
  Index longest_row;      ///< tiles that are transformed together
  TileRuns tile_runs;     ///< for one channel
  Index lanes;            ///< tiles or filters per vector
  TransformFlops flops;
  bool ours;  ///< Blocking::ours
  [[nodiscard]] double elements() const { return static_cast<double>(alpha * alpha); }
};

Sizes sizes_of(Method method, const ConvolutionShape& shape, Pass pass,
               const WorkSetting& setting) {
  const Index m = winograd_outputs(method);
  const Schedule schedule = winograd_schedule(method);
  const bool back = pass == Pass::backward_data;
  const double of_input = shape.input_elements() / as_double(shape.channels);
  const double of_output = shape.output_elements() / as_double(shape.outputs);
  Index inputs = shape.channels / shape.groups, outputs = shape.outputs / shape.groups;
  if (back) std::swap(inputs, outputs);
  const TileGrid grid =
      tile_grid(m, back ? shape.height : shape.out_height, back ? shape.width : shape.out_width);
  const Index alpha = m + 2;
  const Index tiles = shape.images * grid.rows * grid.columns;
  const bool ours = setting.blocking == Blocking::ours;
  const Index lanes = ours ? setting.vector_floats : 1;
  const Blocks channels =
      ours ? output_blocks(outputs, alpha, inputs) : Blocks(outputs, outputs, 1, 1);
  const Index held = inputs + (pass == Pass::backward_filter ? outputs : channels.size);
  const Blocks blocks =
      ours ? tile_blocks(grid, shape.images, alpha, held, schedule, setting.threads)
           : Blocks(tiles, tiles, 1, 1);
  return {m,
          alpha,
          schedule,
          shape.groups,
          inputs,
          outputs,
          tiles,
          back ? of_output : of_input,
          back ? of_input : of_output,
          blocks,
          channels,
          std::min(grid.columns, blocks.size),
          convolution::tile_runs(grid, blocks, lanes),
          lanes,
          ours ? our_transform_flops(static_cast<int>(m))
               : published_transform_flops(static_cast<int>(m)),
          ours};
}

/// `count` tiles or filters, the number of runs, and the vector lanes that they occupy.
struct Runs {
  double count, places, runs;
};

Runs tiles_of(const Sizes& sizes, double channels) {
  const auto& [runs, vectors] = sizes.tile_runs;
  return {channels * as_double(sizes.tiles), channels * as_double(vectors * sizes.lanes),
          channels * as_double(runs)};
}

/// `rows` runs of `length` filters.
Runs filters_of(const Sizes& sizes, Index rows, Index length) {
  return {as_double(rows * length), as_double(rows * round_up(length, sizes.lanes)),
          as_double(rows)};
}

/// Transforms planes or filters of `plain` elements to alpha² elements each, or back.
Stage winograd_tiles_stage(const Sizes& sizes, std::string_view name, const Runs& runs,
                           double plain, double flops, double held) {
  const double groups = as_double(sizes.groups);
  return {.name = name,
          .kind = StageKind::transform,
          .flops = Flops(groups * runs.count * flops),
          .bytes = floats(groups * (plain + runs.count * sizes.elements())),
          .working_set = floats(held * sizes.elements()),
          .scratch = sizes.ours ? floats(groups * runs.count * sizes.elements()) : Bytes(),
          .vector_flops = Flops(groups * runs.places * flops),
          .runs = groups * runs.runs};
}

/// Transform of overlapping input tiles. Ours transforms a column shared by adjacent tiles of a run
/// once. Every tile after the first adds m columns. So a run of n tiles has n m + (α - m) columns,
/// including those of the padding, and n α rows.
Stage input_transform(const Sizes& sizes, double channels, double plain, double held) {
  const Runs runs = tiles_of(sizes, channels);
  Stage stage = winograd_tiles_stage(sizes, "input transform", runs, plain, sizes.flops.data, held);
  if (!sizes.ours) return stage;
  const double m = as_double(sizes.m), alpha = as_double(sizes.alpha);
  const double line = as_double(sizes.groups) * sizes.flops.data / (2 * alpha);
  const auto flops = [&](double tiles) {
    return Flops(line * ((m + alpha) * tiles + (alpha - m) * runs.runs));
  };
  stage.flops = flops(runs.count);
  stage.vector_flops = flops(runs.places);
  return stage;
}

/// Number of blocks of each length: those of full size, and the last.
struct Lengths {
  double size, full, last;
  explicit Lengths(const Blocks& blocks)
      : size(as_double(blocks.size)),
        full(as_double(blocks.total / blocks.size)),
        last(as_double(blocks.total % blocks.size)) {}
  template <class Visit>
  void each(const Visit& visit) const {
    if (full > 0) visit(size, full);
    if (last > 0) visit(last, 1.0);
  }
};

/// A product stage; our algorithms read and write only scratch memory in it.
Stage product_in_scratch(const Sizes& sizes, const std::vector<Products>& products, double added) {
  Stage stage = product_stage(products, added);
  if (sizes.ours) stage.scratch = stage.bytes;
  return stage;
}

Stage winograd_products(const Sizes& sizes, Pass pass, int threads) {
  std::vector<Products> products;
  Lengths(sizes.tile_blocks).each([&](double tiles, double tile_count) {
    Lengths(sizes.channel_blocks).each([&](double outputs, double output_count) {
      const auto rows_of_block = static_cast<Index>(outputs);
      const Blocks parts = sizes.schedule == Schedule::fused
                               ? Blocks(rows_of_block, rows_of_block, 1, 1)
                               : product_parts(rows_of_block, sizes.alpha, threads);
      Lengths(parts).each([&](double rows, double part_count) {
        const double count =
            as_double(sizes.groups) * sizes.elements() * tile_count * output_count * part_count;
        const double inputs = as_double(sizes.inputs);
        products.push_back(pass == Pass::backward_filter ? Products{rows, inputs, tiles, count}
                                                         : Products{rows, tiles, inputs, count});
      });
    });
  });
  if (pass != Pass::backward_filter) return product_in_scratch(sizes, products, 0);
  // Every block of tiles except the first is added to a sum; if fused, each thread has its own sum.
  const double blocks = as_double(sizes.tile_blocks.count());
  const double sums = sizes.schedule == Schedule::fused ? std::min<double>(threads, blocks) : 1;
  const double elements = as_double(sizes.groups * sizes.outputs * sizes.inputs) * sizes.elements();
  return product_in_scratch(sizes, products, (blocks - sums) * elements);
}

std::vector<Stage> correlation_stages(const Sizes& sizes, Pass pass, int threads) {
  const double inputs = as_double(sizes.inputs), outputs = as_double(sizes.outputs);
  const double held = as_double(sizes.tile_blocks.size);
  const double channels = as_double(sizes.channel_blocks.size);
  const Runs filters = pass == Pass::forward ? filters_of(sizes, sizes.outputs, sizes.inputs)
                                             : filters_of(sizes, sizes.inputs, sizes.outputs);
  return {winograd_tiles_stage(sizes, "filter transform", filters, 9 * filters.count,
                               sizes.flops.filter, inputs * channels),
          input_transform(sizes, inputs, inputs * sizes.read, inputs * held),
          winograd_products(sizes, pass, threads),
          winograd_tiles_stage(sizes, "output transform", tiles_of(sizes, outputs),
                               outputs * sizes.written, sizes.flops.output, channels * held)};
}

std::vector<Stage> gradient_stages(const Sizes& sizes, Pass pass, int threads) {
  const double inputs = as_double(sizes.inputs), outputs = as_double(sizes.outputs);
  const double held = as_double(sizes.tile_blocks.size);
  const Runs filters = filters_of(sizes, sizes.outputs, sizes.inputs);
  return {input_transform(sizes, inputs, inputs * sizes.read, inputs * held),
          winograd_tiles_stage(sizes, "gradient transform", tiles_of(sizes, outputs),
                               outputs * sizes.written, sizes.flops.gradient, outputs * held),
          winograd_products(sizes, pass, threads),
          winograd_tiles_stage(sizes, "filter transform", filters, 9 * filters.count,
                               sizes.flops.filter_gradient,
                               inputs * as_double(sizes.channel_blocks.size))};
}

/// Bytes of the stacks that CorrelationPass and FilterGradientPass of the backend native hold.
Bytes our_winograd_workspace(const Sizes& sizes, Pass pass, int threads) {
  const Index tiles = sizes.tile_blocks.size, held = sizes.channel_blocks.size;
  const bool fused = sizes.schedule == Schedule::fused;
  const Index kept = fused || sizes.tile_blocks.count() > 1 ? sizes.channel_blocks.count() : 1;
  const Index holders = fused ? threads : 1;
  const auto stack = [&](Index rows, Index columns) {
    return Stack(sizes.alpha, rows, columns).total;
  };
  const Index strips = strip_elements(sizes.m, sizes.longest_row) * threads;
  switch (pass) {
    case Pass::forward:
      return floats(kept * stack(held, sizes.inputs) +
                    holders * (stack(sizes.inputs, tiles) + stack(held, tiles)) + strips);
    case Pass::backward_data:
      return floats(kept * stack(sizes.inputs, held) +
                    holders * (stack(sizes.inputs, tiles) + stack(held, tiles)) + strips);
    case Pass::backward_filter:
      return floats(holders * (kept * stack(held, sizes.inputs) + stack(sizes.inputs, tiles) +
                               stack(sizes.outputs, tiles)) +
                    strips);
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass is one of a convolution");
}

/// e α² (T C + K C + T K)   [derived]; if fused, terms with T are omitted: they stay in the caches.
Bytes whole_workspace(const Sizes& sizes) {
  const double inputs = as_double(sizes.inputs), outputs = as_double(sizes.outputs);
  const double tiles = sizes.schedule == Schedule::fused ? 0 : as_double(sizes.tiles);
  return floats(sizes.elements() * (tiles * inputs + inputs * outputs + tiles * outputs));
}

}  // namespace

AlgorithmWork winograd_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting) {
  const Sizes sizes = sizes_of(method, shape, pass, setting);
  const bool ours = setting.blocking == Blocking::ours;
  const int threads = ours ? setting.threads : 1;
  return {pass == Pass::backward_filter ? gradient_stages(sizes, pass, threads)
                                        : correlation_stages(sizes, pass, threads),
          ours ? our_winograd_workspace(sizes, pass, threads) : whole_workspace(sizes)};
}

TransformFlops our_transform_flops(int m) {
  switch (m) {
    case 2:
      return {32, 42, 24, 24, 28};
    case 4:
      return {264, 117, 160, 170, 117};
    case 6:
      return {640, 198, 420, 504, 198};
    default:
      fail_expectation("m is 2, 4 or 6");
  }
}

TransformFlops device_transform_flops(int m) {
  EXPECT(m == 2 || m == 4);
  if (m == 2) return {32, 70, 24, 36, 35};
  return {384, 189, 260, 290, 171};
}

TransformFlops published_transform_flops(int m) {
  TransformFlops flops = our_transform_flops(m);
  if (m == 2) std::tie(flops.data, flops.filter, flops.output) = std::tuple(32, 28, 24);
  if (m == 4) std::tie(flops.data, flops.filter, flops.output) = std::tuple(144, 72, 100);
  return flops;
}

}  // namespace dlscale::convolution
