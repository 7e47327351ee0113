#pragma once
#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// What backend::check_operation() holds on the host at most, all of it in f32.
struct CheckMemory {
  /// Beside the memory that the operation works on: what it reads, of the whole batch, a result,
  /// and a tensor that is being copied.
  Bytes beside;
  /// When that memory is given back and the reference answers: what it reads, a result, and what
  /// the reference works on, of all images or of those that are compared.
  Bytes after;
};

/// `operation` was made of `spec`, and has the pass.
CheckMemory check_memory(const backend::OperationSpec& spec, const backend::Operation& operation,
                         Pass pass);

}  // namespace dlscale::bench
