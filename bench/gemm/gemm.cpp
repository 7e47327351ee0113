#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "bench/conv/kernels.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/gemm/product_bench.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/convolution/pixel_blocks.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/gemm.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {
namespace {

using Shapes = std::vector<GemmShape>;

/// Part of a convolution that becomes one product.
enum class Cut {
  blocks,  ///< the pixels of one im2col block
  whole,   ///< all pixels of all images
};

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

/// Each distinct shape once, in the order in which they were added.
class DistinctShapes {
 public:
  void add(const GemmShape& shape) {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape;
    const bool is_new = known_.emplace(m, n, k, transpose_a, transpose_b, batch).second;
    if (is_new) shapes_.push_back(shape);
  }
  void add(const Shapes& shapes) {
    for (const GemmShape& shape : shapes) add(shape);
  }
  [[nodiscard]] const Shapes& get() const { return shapes_; }

 private:
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, std::int64_t>> known_;
  Shapes shapes_;
};

void add_products(const ConvolutionShape& shape, Cut cut, DistinctShapes& all) {
  for (const Pass pass : passes) {
    if (cut == Cut::whole) {
      all.add(convolution::whole_product(shape, pass));
      continue;
    }
    for (const auto& [product, count] : convolution::lowered_products(shape, pass))
      all.add(product);
  }
}

/// Parses "blocks" or "whole". Throws ConfigError.
Cut parse_cut(const std::string& name) {
  if (name == "blocks") return Cut::blocks;
  if (name == "whole") return Cut::whole;
  throw ConfigError(
      fmt::format("{} names {} (neither blocks nor whole). Write blocks for the products that "
                  "im2col runs, whole for those of all pixels at once.",
                  option_name("gemm_source"), name));
}

/// Whether im2col of ours makes products of a layer: a convolution with one stride and pad.
bool has_patches(const Layer& layer) {
  return std::holds_alternative<Convolution>(layer.kind) && is_offered(layer.kind);
}

void require_convolutions(const Network& network) {
  if (std::ranges::any_of(network.layers(), has_patches)) return;
  throw ConfigError(
      fmt::format("{} has no convolutions that become matrix products. Write {} "
                  "512x768x768, for example, or name another network.",
                  network.name(), option_name("sizes")));
}

/// The matrix products that im2col makes of all convolutions of these networks, in all passes, for
/// each number of images; each distinct one once. `networks` are values of --network. Throws
/// ConfigError.
Shapes network_products(const std::vector<std::string>& networks, std::span<const int> batches,
                        std::span<const Cut> cuts) {
  DistinctShapes all;
  const bool every = means_all("network", networks);
  for (const std::string& name : every ? config_names("networks") : networks) {
    const Network network = load_network(name);
    if (!every) require_convolutions(network);
    for (const Layer& layer : network.layers()) {
      if (!has_patches(layer)) continue;
      const std::string key = kernel_key(network, layer.id);
      for (const int batch : batches) {
        const ConvolutionShape shape = parse_convolution_key(key, batch).value().shape;
        for (const Cut cut : cuts) add_products(shape, cut, all);
      }
    }
  }
  return all.get();
}

/// The default shapes, "squares".
constexpr std::array squares{GemmShape{256, 256, 256}, GemmShape{512, 512, 512},
                             GemmShape{1024, 1024, 1024}, GemmShape{2048, 2048, 2048}};

/// The shapes of the given networks; empty if there are none.
Shapes of_networks(const Context& context) {
  if (!context.value("network").empty()) {
    std::vector<Cut> cuts;
    for (const std::string& name : context.list("gemm_source")) cuts.push_back(parse_cut(name));
    return network_products(context.list("network"), context.integers("batch"), cuts);
  }
  if (context.given.contains("gemm_source")) {
    throw ConfigError(fmt::format(
        "{} has no effect without {}: it says which products a network's convolutions become. Name "
        "a network, or leave it out.",
        option_name("gemm_source"), option_name("network")));
  }
  if (!context.given.contains("batch")) return {};
  throw ConfigError(
      fmt::format("{} has no effect without {}: it says of how many images a network's "
                  "convolutions are. Name a "
                  "network; or write :b8 after a size for 8 products at once.",
                  option_name("batch"), option_name("network")));
}

/// Refuses "256,256,256", in which commas stand between the sizes of one product.
void refuse_commas_between_sizes(std::string_view list) {
  const bool is_of_numbers = list.find_first_not_of("0123456789, ") == std::string_view::npos;
  if (is_of_numbers) (void)parse_gemm_shape(list, option_name("sizes"));
}

/// The distinct ones, as lists and sizes overlap.
Shapes parse_shapes(const Context& context) {
  DistinctShapes shapes;
  const bool lists = !context.value("list").empty();
  for (const std::string& name : lists ? context.list("list") : std::vector<std::string>()) {
    shapes.add(load_gemm_shapes(name));
  }
  shapes.add(of_networks(context));
  const bool named = lists || !context.value("network").empty();
  if (named && !context.given.contains("sizes")) return shapes.get();
  refuse_commas_between_sizes(context.value("sizes"));
  for (const std::string& text : context.list("sizes")) {
    shapes.add(text == "squares" ? Shapes(squares.begin(), squares.end())
                                 : Shapes{parse_gemm_shape(text, option_name("sizes"))});
  }
  return shapes.get();
}

/// Parameters of the cells, apart from the backend.
struct Selection {
  Shapes shapes;
  std::vector<DType> dtypes;
  std::vector<Conditions> conditions;
  Check check;
};

Selection parse_selection(const Context& context) {
  Selection selection{parse_shapes(context), {}, {}, parse_check(context.value("check"))};
  for (const std::string& name : context.list("dtype")) {
    selection.dtypes.push_back(parse_dtype(name));
  }
  for (const auto& [cache, values] : combinations(context.list("cache"), context.list("values"))) {
    selection.conditions.push_back(
        {parse_cache_state(cache, kernel_cache_states), parse_value_kind(values)});
  }
  return selection;
}

/// Adds cells for all cache states and kinds of values, which share one check.
void add_cells(const std::shared_ptr<Workbench>& workbench, const Selection& selection,
               const backend::Communicator& communicator, std::vector<Cell>& cells) {
  auto axes = workbench->axes(communicator);
  for (const auto& [shape, dtype] : combinations(selection.shapes, selection.dtypes)) {
    axes["kernel"] = kernel_key(shape);
    axes["dtype"] = dtype_name(dtype);
    const auto bench = std::make_shared<ProductBench>(workbench, shape, dtype, selection.check);
    for (const Conditions& conditions : selection.conditions) {
      axes["cache"] = cache_state_name(conditions.cache);
      axes["values"] = value_kind_name(conditions.values);
      cells.push_back({axes, [bench, conditions](const Sampler& sampler) {
                         return bench->measure(sampler, conditions);
                       }});
    }
  }
}

std::vector<Cell> make_cells(Context& context) {
  const Selection selection = parse_selection(context);
  const int threads = context.integer("threads");
  std::vector<Cell> cells;
  for (const std::string& backend : context.list("backend")) {
    const auto workbench =
        std::make_shared<Workbench>(open_device(backend, threads, context.communicator->gpu()),
                                    open_device("reference", 1), threads);
    add_cells(workbench, selection, *context.communicator, cells);
  }
  return cells;
}

}  // namespace

extern const Benchmark gemm;
const Benchmark gemm{
    .name = "gemm",
    .doc = "Matrix products: DeepBench's, those of transformers or of convolutions, or any sizes.",
    .axes =
        {{"list",
          "lists of shapes, by name (deepbench, deepbench_train, deepbench_inference, "
          "transformer) or file",
          ""},
         {"sizes",
          "products of row-major matrices, m x n x k: 64x128x256[:nn|:nt|:tn|:tt][:b8], the "
          "last for 8 at once; squares: of 256, 512, 1024, 2048, unless lists or networks are "
          "named alone",
          "squares"},
         {"network",
          "networks, by name or file, or all: the products into which im2col of the backend "
          "native turns their convolutions, in all passes",
          ""},
         {"batch", "images that these convolutions are of", "8"},
         advanced(
             "gemm_source",
             "which products of these convolutions: blocks, of the pixels that im2col takes at a "
             "time; whole, of all pixels",
             "blocks"),
         {"dtype", "f32, tf32, bf16, f16: as far as the backend has them", "f32"},
         {"backend",
          "compute backends; native: the call by which our own convolutions multiply, on one "
          "thread",
          "onednn"},
         {"threads", "compute threads per rank", "1"},
         {"cache",
          "what the caches hold when a product starts: cold, producer (the left operand), hot; "
          "rotating: cold by taking sets of matrices in turn",
          "cold"},
         advanced("values", "numbers to compute with: normal, uniform, zeros", "normal"),
         {"check",
          "yes: compare each answer with the reference before timing it, of large products "
          "some rows and columns; no",
          "yes"}},
    .cells = make_cells,
    .suites = Benchmark::Suites::none,
    .rows = Benchmark::Rows::kernels,
    .extra = Benchmark::Extra::offered};

}  // namespace dlscale::bench
