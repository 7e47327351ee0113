#include "bench/memory/stream_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::ArrayKernels;
using backend::simd::ArrayLoop;
using backend::simd::ArrayLoops;
using backend::simd::Stores;

constexpr double scalar = 3.0;

double copy(std::size_t n, const double* a, const double* /*b*/, double* out) {
  std::memcpy(out, a, n * sizeof(double));
  return 0;
}
double scale(std::size_t n, const double* __restrict a, const double* /*b*/,
             double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = scalar * a[i];
  return 0;
}
double add(std::size_t n, const double* __restrict a, const double* __restrict b,
           double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
  return 0;
}
double triad(std::size_t n, const double* __restrict a, const double* __restrict b,
             double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + scalar * b[i];
  return 0;
}
/// Independent partial sums, written out because the compiler may not reorder additions.
double sum(std::size_t n, const double* a, const double* /*b*/, double* /*out*/) {
  constexpr std::size_t at_once = 8;
  std::array<double, at_once> partial{};
  std::size_t i = 0;
  for (; i + at_once <= n; i += at_once) {
    for (std::size_t lane = 0; lane < at_once; ++lane) partial[lane] += a[i + lane];
  }
  for (; i < n; ++i) partial[0] += a[i];
  double all = 0;
  for (const double each : partial) all += each;
  return all;
}
double fill(std::size_t n, const double* /*a*/, const double* /*b*/, double* __restrict out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = scalar;
  return 0;
}

constexpr ArrayLoops compiled{copy, scale, add, triad, sum, fill};

struct Shape {
  std::string_view name;
  int inputs;
  int outputs;
  int flops;
  ArrayLoop ArrayLoops::*loop;
  double (*expected)(double a, double b);
};

constexpr std::array shapes{
    Shape{"copy", 1, 1, 0, &ArrayLoops::copy, [](double a, double) { return a; }},
    Shape{"scale", 1, 1, 1, &ArrayLoops::scale, [](double a, double) { return scalar * a; }},
    Shape{"add", 2, 1, 1, &ArrayLoops::add, [](double a, double b) { return a + b; }},
    Shape{"triad", 2, 1, 2, &ArrayLoops::triad, [](double a, double b) { return a + scalar * b; }},
    Shape{"sum", 1, 0, 1, &ArrayLoops::sum, [](double a, double) { return a; }},
    Shape{"fill", 0, 1, 0, &ArrayLoops::fill, [](double, double) { return scalar; }}};

const Shape& find_shape(std::string_view name) {
  std::string names;
  for (const Shape& shape : shapes) {
    if (shape.name == name) return shape;
    names += std::string(shape.name) + ", ";
  }
  throw ConfigError(fmt::format("{} names \"{}\" (no such operation). Choose among {}h2d.",
                                option_name("operations"), name, names));
}

StreamOperation operation_of(const Shape& shape, ArrayLoop run, std::string implementation) {
  return {shape.name,  std::move(implementation), shape.inputs, shape.outputs,
          shape.flops, shape.outputs > 0,         run,          shape.expected};
}

StreamOperation compiled_operation(const Shape& shape) {
  const bool by_library = shape.loop == &ArrayLoops::copy;
  StreamOperation operation = operation_of(
      shape, compiled.*shape.loop, by_library ? "memcpy of the C library" : "compiled loop");
  if (by_library) operation.write_allocates = false;  // the library decides
  return operation;
}

}  // namespace

StreamOperation stream_operation(std::string_view name, const StreamCode& code) {
  const Shape& shape = find_shape(name);
  const bool streaming = code.stores == Stores::streaming;
  if (streaming && shape.outputs == 0) throw Unsupported(fmt::format("{} stores nothing", name));
  if (code.isa == "compiled") {
    if (streaming) throw Unsupported("the compiler makes no streaming stores");
    return compiled_operation(shape);
  }
  const ArrayKernels& kernels = backend::simd::array_kernels_of(code.isa);
  const ArrayLoops& loops = streaming ? kernels.streaming : kernels.ordinary;
  StreamOperation operation =
      operation_of(shape, loops.*shape.loop,
                   fmt::format("{} loop{}", code.isa, streaming ? ", streaming stores" : ""));
  if (streaming) operation.write_allocates = false;
  return operation;
}

std::vector<std::string_view> stream_operation_names() {
  std::vector<std::string_view> names;
  for (const Shape& shape : shapes) names.push_back(shape.name);
  return names;
}

std::string widest_instruction_set() {
  const auto kernels = backend::simd::array_kernels();
  return kernels.empty() ? "best" : std::string(kernels.back().isa);
}

}  // namespace dlscale::bench
