#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/compute.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/finding.hpp"
#include "bench/workbench/values.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/units.hpp"
#include "core/network/step.hpp"

namespace dlscale::bench {

/// One step of a network on its own memory, filled with random values, which can run repeatedly.
class StepRun {
 public:
  virtual ~StepRun() = default;
  virtual void run() = 0;  ///< returns when done or enqueued
  /// The output of the previous step of a training iteration, oldest first.
  [[nodiscard]] virtual std::vector<std::span<std::byte>> produced() const = 0;
  [[nodiscard]] virtual std::string implementation() const = 0;
};

/// Makes a run of one pass; `operation` and `device` must outlive it. For a backward pass it has
/// run forward once, for the saved state. For backward_data of a layer with a ReLU it has also run
/// backward_filter, which masks the gradient. Throws LibraryError.
std::unique_ptr<StepRun> make_operation_run(backend::ComputeDevice& device,
                                            const backend::OperationSpec& spec,
                                            backend::Operation& operation, Pass pass,
                                            const OperandValues& values);

/// Makes a run of into += value for each of `consumers` - 1 gradients of one output.
std::unique_ptr<StepRun> make_accumulate_run(backend::ComputeDevice& device,
                                             const backend::TensorDesc& gradient,
                                             std::size_t consumers, const OperandValues& values);

/// Rotates through runs of the same step on separate operands. Requires at least one.
std::unique_ptr<StepRun> make_rotating_run(std::vector<std::unique_ptr<StepRun>> runs);

/// Host memory of accumulate_error() in f32: both gradients and the sum.
Bytes accumulate_copies(const backend::TensorDesc& gradient);

/// The largest |a - b| / rms(b) of ComputeDevice::accumulate against a sum in double.
double accumulate_error(backend::ComputeDevice& device, const backend::TensorDesc& gradient,
                        const OperandValues& values);

/// Number of operand sets for a kernel that moves `each` bytes per run; 1 unless rotating.
int operand_sets(const Workbench& workbench, CacheState cache, Bytes each);

/// Whether `sets` sets of operands, each of `each` bytes with its workspace, fit in memory
/// together. A single set is not checked. `each` may throw Unsupported. Collective.
Finding find_room(backend::Communicator& communicator, const Workbench& workbench, int sets,
                  const std::function<Bytes()>& each);

/// Samples a kernel on `sets` sets of operands made by `make`, and records the implementation.
/// Several sets rotate and add the series "operand_sets". Collective.
Measurement sample_on_sets(Workbench& workbench, const Sampler& sampler, CacheState cache, int sets,
                           const std::function<std::unique_ptr<StepRun>()>& make);

}  // namespace dlscale::bench
