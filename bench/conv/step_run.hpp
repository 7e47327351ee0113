#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/compute.hpp"
#include "bench/conv/values.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// One step of a network on memory of its own, filled with random values and ready to run again and
/// again.
class StepRun {
 public:
  virtual ~StepRun() = default;
  virtual void run() = 0;  ///< returns when done or given to the device
  /// What the step before this one in a training iteration has just written, oldest first.
  [[nodiscard]] virtual std::vector<std::span<std::byte>> produced() const = 0;
  [[nodiscard]] virtual std::string implementation() const = 0;
};

/// A pass of an operation; `operation` and `device` must outlive it. Backward passes have run
/// forward once, for the state it leaves, and backward_data of a layer with a ReLU
/// backward_filter, for what that leaves of the gradient. Throws LibraryError.
std::unique_ptr<StepRun> make_operation_run(backend::ComputeDevice& device,
                                            const backend::OperationSpec& spec,
                                            backend::Operation& operation, Pass pass,
                                            const OperandValues& values);

/// into += value for each of `consumers` - 1 gradients of one output.
std::unique_ptr<StepRun> make_accumulate_run(backend::ComputeDevice& device,
                                             const backend::TensorDesc& gradient,
                                             std::size_t consumers, const OperandValues& values);

/// Runs of the same step, on operands of their own, each in turn. At least one.
std::unique_ptr<StepRun> make_rotating_run(std::vector<std::unique_ptr<StepRun>> runs);

/// What accumulate_error() holds on the host in f32: both gradients, and the sum.
Bytes accumulate_copies(const backend::TensorDesc& gradient);

/// The largest |a - b| / rms(b) of ComputeDevice::accumulate against a sum in double.
double accumulate_error(backend::ComputeDevice& device, const backend::TensorDesc& gradient,
                        const OperandValues& values);

}  // namespace dlscale::bench
