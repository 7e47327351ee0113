#pragma once
#include <cstddef>
#include <string_view>

#include "bench/benchmark.hpp"

namespace dlscale::bench {

/// A pass over arrays of doubles, as in STREAM   [McCalpin 1995]:
///   copy out = a;  scale out = s · a;  add out = a + b;  triad out = a + s · b
struct StreamOperation {
  std::string_view name;
  std::string_view implementation;
  int inputs;  ///< arrays read; one is written
  int flops;   ///< per element
  void (*run)(std::size_t n, const double* a, const double* b, double* out);
  double (*expected)(double a, double b);
};

/// The operation called `name`. Throws ConfigError listing those there are.
const StreamOperation& find_stream_operation(std::string_view name);

/// Runs it with `threads` threads over arrays of `bytes` bytes each, all ranks at once; `bytes` is
/// a multiple of 64. Checks every element first. Bytes of the work are those of the arrays, each
/// once: a processor that reads a line before it writes it moves a third to a half more.
Measurement measure_stream(const StreamOperation& operation, std::size_t bytes, int threads,
                           const Sampler& sampler);

}  // namespace dlscale::bench
