#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/host/simd/kernels.hpp"

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

}  // namespace dlscale::bench
