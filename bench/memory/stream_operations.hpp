#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/host/simd/kernels.hpp"

namespace dlscale::bench {

/// A pass over arrays of doubles, as in STREAM   [McCalpin 1995], and two of one side only:
///   copy out = a;  scale out = s · a;  add out = a + b;  triad out = a + s · b;
///   sum Σ a;  fill out = s
struct StreamOperation {
  std::string_view name;
  std::string implementation;
  int inputs;   ///< arrays read
  int outputs;  ///< arrays written: 0 or 1
  int flops;    ///< per element
  /// Whether a line of the output that is not in the caches is read before it is written, so that
  /// as many bytes more move; false where it is not known.
  bool write_allocates;
  backend::simd::ArrayLoop run;
  double (*expected)(double a, double b);  ///< of `out`; of sum, what an element adds
};

/// Who writes the loop, and how it stores.
struct StreamCode {
  std::string isa = "compiled";  ///< by the compiler for every processor of this kind; or by
                                 ///< hand for an instruction set
  backend::simd::Stores stores = backend::simd::Stores::ordinary;
};

/// Throws ConfigError listing the operations there are, and Unsupported where this processor or
/// build has no such code.
StreamOperation stream_operation(std::string_view name, const StreamCode& code = {});

/// copy, scale, …
std::vector<std::string_view> stream_operation_names();

/// The widest instruction set that loops are written for here; "best" where there is none.
std::string widest_instruction_set();

}  // namespace dlscale::bench
