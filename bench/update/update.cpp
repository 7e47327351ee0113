#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "bench/conv/conditions.hpp"
#include "bench/conv/workbench.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/engine/combinations.hpp"
#include "bench/update/update_cells.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

std::size_t parse_size(const std::string& text) {
  const Bytes bytes = parse_quantity<Bytes>(text, "--sizes");
  const double elements = bytes.si() / sizeof(float);
  if (elements >= 1 && elements == std::floor(elements)) return static_cast<std::size_t>(elements);
  throw ConfigError(
      fmt::format("--sizes names {} (parameters are numbers of 4 bytes). Write a "
                  "positive multiple of 4 bytes, such as 64 KiB.",
                  text));
}

std::vector<Cell> make_cells(Context& context) {
  const int threads = context.integer("threads");
  const DType dtype = parse_dtype(context.value("dtype"));
  const auto workbench = std::make_shared<Workbench>(
      open_device(context.value("backend"), threads, context.communicator->gpu()),
      open_device("reference", 1), threads);
  std::vector<CacheState> caches;
  for (const std::string& name : context.list("cache")) {
    caches.push_back(parse_cache_state(name, kernel_cache_states));
  }
  std::vector<Cell> cells;
  for (const auto& [size, cache] : combinations(context.list("sizes"), caches)) {
    const std::size_t n = parse_size(size);
    auto axes = workbench->axes(*context.communicator);
    axes["bytes"] = std::to_string(n * sizeof(float));
    axes["dtype"] = dtype_name(dtype);
    axes["cache"] = cache_state_name(cache);
    cells.push_back({std::move(axes), [workbench, n, dtype, cache = cache](const Sampler& sampler) {
                       return measure_update(*workbench, n, dtype, sampler, cache);
                     }});
  }
  return cells;
}

}  // namespace

extern const Benchmark update;
const Benchmark update{
    .name = "update",
    .doc = "The SGD step over an array of parameters.",
    // Up to the parameters of VGG-19, 143,667,240 x 4 B (Simonyan & Zisserman 2015, table 2).
    .axes = {{"sizes", "bytes of f32 parameters",
              "64 KiB,256 KiB,1 MiB,4 MiB,16 MiB,64 MiB,256 MiB,574668960 B"},
             {"dtype", "f32; bf16: the step also writes the weights in bf16", "f32"},
             {"backend", "compute backend", "onednn"},
             {"threads", "compute threads per rank", "1"},
             {"cache",
              "what the caches hold when a step starts: cold, producer (the gradients), hot; "
              "rotating: cold by taking sets of arrays in turn",
              "cold"}},
    .cells = make_cells,
    .suites = Benchmark::Suites::none,
    .rows = Benchmark::Rows::kernels,
    .extra = Benchmark::Extra::offered};

}  // namespace dlscale::bench
