#pragma once
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/cuda/cudnn/examination.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// Memory of the device to run a layer in while a way to do it is chosen. Tensors are filled with
/// noise, labels with all classes in turn. The state is zero: a forward pass must come before what
/// reads it.
class LayerTrial {
 public:
  /// For `operation`, and for another of the same layer that needs `least`. `spec` has all inputs
  /// in the order of `context`. Throws ConfigError if the memory is not there.
  LayerTrial(const Context& context, const OperationSpec& spec, const Operation& operation,
             const WorkingBytes& least = {});

  /// Enqueues both passes.
  void run(Operation& operation) const;
  /// What both passes write.
  [[nodiscard]] std::vector<Written> written() const;
  /// Runs both passes, waits, and records them as a CUDA graph. Some of what a library does not
  /// offer shows only then, by whatever code: Unsupported with its words, unless the device itself
  /// is broken.
  void expect_runs(Operation& operation) const;

 private:
  const Context* context_;
  OperationMemory memory_;
};

}  // namespace dlscale::backend::cuda
