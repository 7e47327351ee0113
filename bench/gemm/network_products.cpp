#include "bench/gemm/network_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "bench/conv/kernels.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/convolution/lowered_products.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {
namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

void add_once(const GemmShape& product, std::vector<GemmShape>& all) {
  if (std::ranges::find(all, product) == all.end()) all.push_back(product);
}

void add_products(const ConvolutionShape& shape, Cut cut, std::vector<GemmShape>& all) {
  for (const Pass pass : passes) {
    if (cut == Cut::whole) {
      add_once(lowering::whole_product(shape, pass), all);
      continue;
    }
    for (const auto& [product, count] : lowering::lowered_products(shape, pass))
      add_once(product, all);
  }
}

}  // namespace

Cut parse_cut(const std::string& name) {
  if (name == "blocks") return Cut::blocks;
  if (name == "whole") return Cut::whole;
  throw ConfigError(
      fmt::format("--cut names {} (neither blocks nor whole). Write blocks for the products that "
                  "im2col runs, whole for those of all pixels at once.",
                  name));
}

std::vector<GemmShape> network_products(const std::vector<std::string>& networks,
                                        std::span<const int> batches, std::span<const Cut> cuts) {
  std::vector<GemmShape> all;
  const bool every = means_all("--network", networks);
  for (const std::string& name : every ? config_names("networks") : networks) {
    const Network network = load_network(name);
    for (const Layer& layer : network.layers()) {
      if (!std::holds_alternative<Convolution>(layer.kind)) continue;
      const std::string key = kernel_key(network, layer.id);
      for (const int batch : batches) {
        const ConvolutionShape shape = parse_convolution_key(key, batch).value().shape;
        for (const Cut cut : cuts) add_products(shape, cut, all);
      }
    }
  }
  return all;
}

}  // namespace dlscale::bench
