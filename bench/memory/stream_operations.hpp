#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/host/simd/kernels.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// A pass over arrays of doubles, as in STREAM   [McCalpin 1995], and two that only read or write:
///   copy out = a;  scale out = s · a;  add out = a + b;  triad out = a + s · b;
///   sum Σ a;  fill out = s
struct StreamOperation {
  std::string_view name;
  std::string implementation;
  int inputs;   ///< number of arrays read
  int outputs;  ///< number of arrays written: 0 or 1
  int flops;    ///< per element
  /// Whether a line of the output is read before it is written if it is not in the caches, which
  /// doubles its traffic; false if unknown.
  bool write_allocates;
  backend::simd::ArrayLoop run;
  double (*expected)(double a, double b);  ///< element of `out`; for sum, the term of one element
};

/// The code of the loop: compiled or hand-written, and its kind of stores.
struct StreamCode {
  /// "compiled": by the compiler for every processor of this kind; else hand-written for that
  /// instruction set.
  std::string isa = "compiled";
  backend::simd::Stores stores = backend::simd::Stores::ordinary;
};

/// The operation with that name. Throws ConfigError listing the names, and Unsupported if this
/// processor or build lacks the code.
StreamOperation stream_operation(std::string_view name, const StreamCode& code = {});

/// All names: copy, scale, …
std::vector<std::string_view> stream_operation_names();

/// The widest instruction set with hand-written loops here; "best" if there is none.
std::string widest_instruction_set();

/// Runs the operation on all ranks at once, with `threads` threads each on its own core, over
/// arrays of `bytes` bytes (a multiple of 64). Checks every element first. Work counts the bytes of
/// each array once, as STREAM does. If the processor reads a line before it writes it, series
/// "write_allocate" (B) has these extra bytes, once the arrays exceed the caches. A sample is the
/// mean over passes_for() passes.
Measurement measure_stream(const StreamOperation& operation, std::size_t bytes, int threads,
                           const Sampler& sampler);

}  // namespace dlscale::bench
