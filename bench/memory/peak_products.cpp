#include "bench/memory/peak_products.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "backend/comm/together.hpp"
#include "bench/engine/combinations.hpp"
#include "bench/engine/unsupported.hpp"
#include "bench/gemm/product_bench.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using Axes = std::map<std::string, std::string>;

/// A backend's device, or why this rank has none: too many threads, or any reason if the user did
/// not name the backend.
struct Opened {
  std::shared_ptr<Workbench> workbench;
  std::string obstacle;
};

Opened open(const Context& context, int threads) {
  if (context.given.contains("backend")) {
    static_cast<void>(find_backend(context.value("backend")));  // throws for one not in this build
  }
  try {
    auto device = open_device(context.value("backend"), threads, context.communicator->gpu());
    return {std::make_shared<Workbench>(std::move(device), open_device("reference", 1), threads),
            ""};
  } catch (const Unsupported& error) {
    // Every backend that works here supports one thread.
    if (context.given.contains("backend") && threads == 1) throw;
    return {nullptr, error.what()};
  }
}

/// Collective. If one rank lacks the device, none measures it.
Measurement measure_product(const Opened& opened, const GemmShape& shape, DType dtype,
                            const Sampler& sampler) {
  try {
    together(sampler.communicator(), [&] {
      if (opened.workbench == nullptr) throw Unsupported(opened.obstacle);
    });
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
  return ProductBench(opened.workbench, shape, dtype, Check::reference)
      .measure(sampler, {CacheState::hot, ValueKind::normal});
}

Axes product_axes(const Context& context, const std::string& operation, int threads) {
  return {{"operation", operation},
          {"backend", context.value("backend")},
          {"threads", std::to_string(threads)},
          {"ranks", std::to_string(context.communicator->size())},
          {"ranks_on_node", std::to_string(context.communicator->node_size())}};
}

std::function<Measurement(const Sampler&)> measure_of(const Opened& opened, const GemmShape& shape,
                                                      const std::string& dtype) {
  if (dtype == "f64") {  // the loops support it, but no backend does
    const Unsupported none("matrix products are not offered in f64");
    return [row = unsupported(none)](const Sampler&) { return row; };
  }
  return [opened, shape, precision = parse_dtype(dtype)](const Sampler& sampler) {
    return measure_product(opened, shape, precision, sampler);
  };
}

}  // namespace

void add_products(const Context& context, const std::string& operation, std::vector<Cell>& cells) {
  for (const int threads : context.integers("threads")) {
    const Opened opened = open(context, threads);
    Axes axes = product_axes(context, operation, threads);
    for (const auto& [text, dtype] :
         combinations(context.list("products"), context.list("dtype"))) {
      const GemmShape shape = parse_gemm_shape(text, "--products");
      axes["kernel"] = kernel_key(shape);
      axes["dtype"] = dtype;
      cells.push_back({axes, measure_of(opened, shape, dtype)});
    }
  }
}

}  // namespace dlscale::bench
