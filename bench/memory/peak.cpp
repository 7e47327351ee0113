#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "backend/host/host.hpp"
#include "backend/host/simd/kernels.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/gemm/product_bench.hpp"
#include "bench/memory/axes.hpp"
#include "bench/memory/host/host_peak.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::PeakKernel;
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

/// Adds cells of matrix products by a compute backend from warm caches: the peak of its library,
/// besides the loops of `bench peak`. The axes "products", "dtype", "threads" and "backend" select
/// them. Throws ConfigError for unknown words in them. A missing backend or precision gives a row
/// with the reason.
void add_products(const Context& context, const std::string& operation, std::vector<Cell>& cells) {
  for (const int threads : context.integers("threads")) {
    const Opened opened = open(context, threads);
    Axes axes = product_axes(context, operation, threads);
    for (const auto& [text, dtype] :
         combinations(context.list("products"), context.list("dtype"))) {
      const GemmShape shape = parse_gemm_shape(text, option_name("products"));
      axes["kernel"] = kernel_key(shape);
      axes["dtype"] = dtype;
      cells.push_back({axes, measure_of(opened, shape, dtype)});
    }
  }
}

constexpr std::string_view all_sets = "all";
constexpr std::array dtypes{Named<bool>{"f32", true}, Named<bool>{"f64", true},
                            Named<bool>{"bf16", false}};  // whether intensities have it

/// An instruction set and a precision, and whether the user named it.
struct Code {
  std::string isa;
  std::string dtype;
  bool by_name = false;
};

std::vector<Code> codes_of(const Context& context) {
  std::vector<Code> codes;
  const auto add = [&](std::string_view isa, bool by_name) {
    for (const std::string& dtype : context.list("dtype")) {
      static_cast<void>(value_of<bool>(dtype, dtypes, "dtype"));
      const bool there = std::any_of(codes.begin(), codes.end(), [&](const Code& code) {
        return code.isa == isa && code.dtype == dtype;
      });
      if (there) continue;  // named in addition to "all"
      codes.push_back({std::string(isa), dtype, by_name});
    }
  };
  for (const std::string& isa : context.list("isa")) {
    check_isa(isa, {all_sets});
    if (isa != all_sets) {
      add(isa, true);
      continue;
    }
    for (const std::string_view each : backend::simd::known_instruction_sets()) add(each, false);
  }
  return codes;
}

/// Whether the instruction set has the precision. Sets for bf16 have only bf16, all others have
/// none.
bool has_dtype(const Code& code) {
  return code.isa.ends_with("bf16") == (code.dtype == "bf16");
}

bool is_of_arrays(const Code& code) {
  return has_dtype(code) && value_of<bool>(code.dtype, dtypes, "dtype");
}

Measurement measure_chains(const Code& code, int threads, const Sampler& sampler) {
  for (const PeakKernel& kernel : backend::simd::peak_kernels()) {
    if (kernel.isa != code.isa || kernel.dtype != code.dtype) continue;
    Measurement measurement = measure_peak(kernel, threads, sampler);
    add_host_warnings(measurement, threads, sampler.communicator());
    return measurement;
  }
  const std::string reason = backend::simd::obstacle(code.isa);
  return unsupported(Unsupported(
      reason.empty() ? fmt::format("{} has no multiply-adds of {}", code.isa, code.dtype)
                     : reason));
}

Measurement measure_passes(const IntensitySpec& spec, int threads, const Sampler& sampler) {
  if (!is_of_arrays({spec.isa, spec.dtype})) {
    return unsupported(
        Unsupported(fmt::format("{} has no passes over arrays of {}", spec.isa, spec.dtype)));
  }
  Measurement measurement = measure_intensity(spec, threads, sampler);
  add_host_warnings(measurement, threads, sampler.communicator());
  return measurement;
}

Axes peak_axes(const Context& context, const std::string& operation, const Code& code,
               int threads) {
  return {{"operation", operation},
          {"isa", code.isa},
          {"dtype", code.dtype},
          {"threads", std::to_string(threads)},
          {"ranks", std::to_string(context.communicator->size())},
          {"ranks_on_node", std::to_string(context.communicator->node_size())}};
}

void add_chains(const Context& context, const std::string& operation, std::vector<Cell>& cells) {
  for (const auto& [threads, code] : combinations(context.integers("threads"), codes_of(context))) {
    if (!code.by_name && !has_dtype(code)) continue;
    cells.push_back({peak_axes(context, operation, code, threads),
                     [code = code, threads = threads](const Sampler& sampler) {
                       return measure_chains(code, threads, sampler);
                     }});
  }
}

double parse_intensity(const std::string& text) {
  constexpr double largest = 1024;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && last == end && value > 0 && value <= largest) return value;
  throw ConfigError(fmt::format(
      "{} names \"{}\" (operations a byte are a number above 0, at most {}). Write, for "
      "example, 0.25.",
      option_name("intensities"), text, largest));
}

/// The array sizes; one array per rank must fit in memory.
std::vector<std::size_t> intensity_sizes(const Context& context) {
  const SizeRule rule{.unit = 64, .beyond = beyond_caches(backend::last_level_cache())};
  std::vector<std::size_t> sizes = sizes_of(context, "sizes", rule);
  const auto largest = static_cast<double>(sizes.back());
  expect_room(fmt::format("{} has an array of {}", option_name("sizes"), to_text(Bytes(largest))),
              largest, *context.communicator);
  return sizes;
}

void add_arrays(const Context& context, const std::string& operation, std::vector<Cell>& cells) {
  for (const auto& [code, threads, bytes, text] :
       combinations(codes_of(context), context.integers("threads"), intensity_sizes(context),
                    context.list("intensities"))) {
    if (!code.by_name && !is_of_arrays(code)) continue;
    const IntensitySpec spec{code.isa, code.dtype, bytes, parse_intensity(text)};
    Axes axes = peak_axes(context, operation, code, threads);
    axes["bytes"] = std::to_string(bytes);
    axes["intensity"] = fmt::format("{}", spec.intensity);
    cells.push_back({std::move(axes), [spec, threads = threads](const Sampler& sampler) {
                       return measure_passes(spec, threads, sampler);
                     }});
  }
}

using AddPeakCells = void (*)(const Context&, const std::string& operation,
                              std::vector<Cell>& cells);
constexpr std::array peak_operations{Named<AddPeakCells>{"fma", add_chains},
                                     Named<AddPeakCells>{"intensity", add_arrays},
                                     Named<AddPeakCells>{"gemm", add_products}};

std::vector<Cell> make_peak_cells(Context& context) {
  refuse_axes_without_effect(context, {{"isa", {"fma", "intensity"}},
                                       {"sizes", {"intensity"}},
                                       {"intensities", {"intensity"}},
                                       {"products", {"gemm"}},
                                       {"backend", {"gemm"}}});
  std::vector<Cell> cells;
  for (const std::string& operation : context.list("operations")) {
    const AddPeakCells add = value_of<AddPeakCells>(operation, peak_operations, "operations");
    add(context, operation, cells);
  }
  return cells;
}

}  // namespace

extern const Benchmark peak;
const Benchmark peak{
    .name = "peak",
    .doc = "Arithmetic that the processor does at most, by instruction set and precision.",
    .axes =
        {{"operations",
          "fma: multiply-adds in registers; intensity: arithmetic between a load and a store of "
          "every element of an array, for a roofline; gemm: a large matrix product by the library "
          "of a compute backend, to compare with",
          "fma,gemm"},
         {"isa", "fma, intensity: instruction sets: avx2, avx512, avx512_bf16, ..., or all", "all"},
         {"dtype", "f32, f64, bf16", "f32,f64,bf16"},
         {"sizes",
          "intensity: bytes of the array; beyond_caches: four times the last-level cache; "
          "sweep: 4 KiB to that by doublings",
          "16 KiB,512 KiB,8 MiB,beyond_caches"},
         {"intensities", "intensity: operations for each byte loaded or stored",
          "0.0625,0.125,0.25,0.5,1,2,4,8,16,32,64"},
         {"products", "gemm: products, as the sizes of bench gemm", "2048x2048x2048"},
         {"backend", "gemm: compute backend", "onednn"},
         {"threads", "threads per rank", "1"}},
    .cells = make_peak_cells};

}  // namespace dlscale::bench
