#include "core/lowering/spectra.hpp"
#include "core/lowering/stages.hpp"
#include "core/lowering/tile_blocks.hpp"

namespace dlscale::lowering {
namespace {

struct Spectral {
  SpectralSizes sizes;
  SpectralBlocks blocks;
  SpectralTraffic traffic;
  double groups;
  double frequencies;
};

/// `planes` of L × L points, of which `pixels` elements in all are read or written.
Stage transform(const Spectral& work, std::string_view name, std::int64_t planes, double pixels,
                std::int64_t held) {
  const auto count = static_cast<double>(planes);
  return {.name = name,
          .kind = StageKind::transform,
          .flops = Flops(work.groups * count * transform_flops(work.sizes.L)),
          .bytes = floats(pixels + work.groups * count * 2 * work.frequencies),
          .working_set = floats(2 * work.frequencies * static_cast<double>(held))};
}

/// Each complex product by two real ones: m × n × 2k.
Stage products_of(const Spectral& work) {
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
  return product_stage(products);
}

/// Elements that the transforms of a tensor of `elements` read, when its planes are transformed
/// `planes` instead of `least` times; tiles overlap, which is left out.
double pixels(double elements, std::int64_t planes, std::int64_t least) {
  return elements * static_cast<double>(planes) / static_cast<double>(least);
}

Bytes our_workspace(const Spectral& work, int threads) {
  const std::int64_t rotated = round_up(2 * work.blocks.a().im(), most_lanes);
  const std::int64_t transform = transform_workspace_floats(work.sizes.L, work.blocks.batch);
  return floats(frequencies(work.sizes.L) * work.blocks.floats() + threads * (rotated + transform));
}

SpectralBlocks blocks_of(const SpectralSizes& sizes, const WorkSetting& setting) {
  if (setting.blocking == Blocking::whole) return {sizes.q, sizes.i, sizes.j, 1};
  return choose_blocks(sizes, setting.vector_floats, spectra_limit_bytes);
}

/// Elements of the tensors that Â, B̂ and the result are transforms of.
struct Elements {
  double a, b, result;
};

Elements elements_of(const ConvolutionShape& shape, Pass pass) {
  const double x = shape.input_elements(), w = shape.weight_elements();
  const double y = shape.output_elements();
  if (pass == Pass::forward) return {w, x, y};
  return pass == Pass::backward_data ? Elements{w, y, x} : Elements{y, x, w};
}

}  // namespace

AlgorithmWork spectral_work(Method method, const ConvolutionShape& shape, Pass pass,
                            const WorkSetting& setting) {
  const TileChoice tile = method == Method::fft ? TileChoice{points_for_whole(shape), Tiling::whole}
                                                : choose_tile(shape, pass);
  const SpectralSizes sizes = spectral_sizes(shape, pass, tile.L, tile.tiling);
  const SpectralBlocks blocks = blocks_of(sizes, setting);
  const Spectral work{.sizes = sizes,
                      .blocks = blocks,
                      .traffic = spectral_traffic(sizes, blocks),
                      .groups = static_cast<double>(sizes.groups),
                      .frequencies = static_cast<double>(frequencies(sizes.L))};
  const Elements elements = elements_of(shape, pass);
  const auto& [planes_a, planes_b, planes_result, moved, count] = work.traffic;
  AlgorithmWork result;
  result.stages = {
      transform(work, "transform of Â", planes_a, pixels(elements.a, planes_a, sizes.q * sizes.i),
                blocks.q * blocks.i),
      transform(work, "transform of B̂", planes_b, pixels(elements.b, planes_b, sizes.q * sizes.j),
                blocks.q * blocks.j),
      products_of(work),
      transform(work, "inverse transform", planes_result, elements.result, blocks.i * blocks.j)};
  const double whole = static_cast<double>(planes_a + planes_b + planes_result);
  result.workspace = setting.blocking == Blocking::ours
                         ? our_workspace(work, setting.threads)
                         : floats(work.groups * whole * 2 * work.frequencies);
  return result;
}

}  // namespace dlscale::lowering
