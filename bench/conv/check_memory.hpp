#pragma once
#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// Upper bounds on the host memory that backend::check_operation() uses, all in f32.
struct CheckMemory {
  /// Memory in addition to that of the operation: its inputs for the whole batch, one result, and a
  /// tensor that is being copied.
  Bytes beside;
  /// Memory once the operation's memory is freed and the reference runs: the inputs, one result,
  /// and the reference's own memory, for all images or for the compared ones.
  Bytes after;
};

/// `operation` was made from `spec` and has the pass.
CheckMemory check_memory(const backend::OperationSpec& spec, const backend::Operation& operation,
                         Pass pass);

}  // namespace dlscale::bench
