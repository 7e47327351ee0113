#include "bench/gemm/network_products.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "bench/conv/kernels.hpp"
#include "core/config_path.hpp"
#include "core/convolution_shape.hpp"
#include "core/lowering/lowered_products.hpp"
#include "core/network.hpp"
#include "core/step.hpp"

namespace dlscale::bench {
namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

void add_products(const ConvolutionShape& shape, std::vector<GemmShape>& all) {
  for (const Pass pass : passes) {
    for (const auto& [product, count] : lowering::lowered_products(shape, pass)) {
      if (std::ranges::find(all, product) == all.end()) all.push_back(product);
    }
  }
}

}  // namespace

std::vector<GemmShape> network_products(const std::vector<std::string>& networks,
                                        std::span<const int> batches) {
  std::vector<GemmShape> all;
  const bool every = means_all("--network", networks);
  for (const std::string& name : every ? config_names("networks") : networks) {
    const Network network = load_network(name);
    for (const Layer& layer : network.layers()) {
      if (!std::holds_alternative<Convolution>(layer.kind)) continue;
      const std::string key = kernel_key(network, layer.id);
      for (const int batch : batches) {
        add_products(parse_convolution_key(key, batch).value().shape, all);
      }
    }
  }
  return all;
}

}  // namespace dlscale::bench
