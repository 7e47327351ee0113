#pragma once
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/cuda/cudnn/examination.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Device memory for running a layer while an algorithm for it is chosen. Tensors are filled with
/// noise, labels with all classes in turn. The state is zero: a forward pass must precede what
/// reads it.
class LayerTrial {
 public:
  /// Memory for `operation`, and for another of the same layer that needs `least`. All inputs of
  /// `spec` have the order of `context`. Throws ConfigError if memory does not suffice.
  LayerTrial(const Context& context, const OperationSpec& spec, const Operation& operation,
             const WorkingBytes& least = {});

  /// Enqueues both passes.
  void run(Operation& operation) const;
  /// Tensors that both passes write.
  [[nodiscard]] std::vector<Written> written() const;
  /// Runs both passes, waits, and records them as a CUDA graph. A library may refuse only then,
  /// with any code: throws Unsupported with its message, unless the device itself is broken.
  void expect_runs(Operation& operation) const;

 private:
  const Context* context_;
  OperationMemory memory_;
};

}  // namespace dlscale::backend::cuda
