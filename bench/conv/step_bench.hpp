#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend/compute/compute.hpp"
#include "bench/conv/kernels.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/finding.hpp"
#include "bench/workbench/step_run.hpp"
#include "bench/workbench/values.hpp"
#include "bench/workbench/workbench.hpp"
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

/// A measured kernel.
struct MeasuredKernel {
  std::string key;  ///< kernel_key()
  Pass pass = Pass::forward;
  int batch = 1;
  DType dtype = DType::f32;
  int threads = 1;
};

/// Actual work of the algorithm that a backend ran, derived from the implementation's name. Empty
/// for layers other than convolutions and for implementations with an unknown algorithm. Also empty
/// for transforms in precisions of 2 bytes, as the precision of their planes is unknown. Reorders
/// are not included.
std::optional<Work> algorithmic_work(std::string_view backend, std::string_view implementation,
                                     const MeasuredKernel& kernel);

/// Deviations of a kernel from training's choices.
struct Variant {
  /// One of ComputeDevice::algorithms() for the kernel in the layout below.
  std::optional<backend::Algorithm> algorithm = {};
  std::optional<backend::LayoutKind> layout = {};  ///< of activations
};

/// Measures one kernel of a network at one batch and precision. Every rank checks it once against
/// the reference before the first timing.
class StepBench {
 public:
  StepBench(std::shared_ptr<Workbench> workbench, std::shared_ptr<const Network> network,
            Kernel kernel, int batch, DType dtype, Check check, Variant variant = {});
  /// Measures under `conditions`. Rotation adds the series "operand_sets".
  Measurement measure(const Sampler& sampler, const Conditions& conditions);

 private:
  Finding find(int ranks_on_node);
  Finding tried(const train::ProgramPlan& plan);
  Finding checked(const train::ProgramPlan& plan);
  void expect_room(const train::ProgramPlan& plan, Bytes tensors, int ranks_on_node);
  Finding find_room(const Sampler& sampler, CacheState cache);
  void describe(Measurement& measurement);
  Measurement time(const Sampler& sampler, const Conditions& conditions);
  std::unique_ptr<StepRun> prepare_one(const OperandValues& values);
  /// Number of operand sets; 1 unless rotating.
  [[nodiscard]] int sets(CacheState cache) const;
  [[nodiscard]] backend::OperationSpec spec(const train::ProgramPlan& plan) const;
  [[nodiscard]] backend::TensorDesc gradient(const train::ProgramPlan& plan) const;
  void make_own_operation(const train::ProgramPlan& plan);
  [[nodiscard]] backend::Operation& operation(const train::ProgramPlan& plan);

  std::shared_ptr<Workbench> workbench_;
  std::shared_ptr<const Network> network_;
  Kernel kernel_;
  int batch_;
  DType dtype_;
  Check check_;
  Variant variant_;
  std::unique_ptr<backend::Operation> own_operation_;  ///< the variant's; set by find()
  std::optional<Seconds> creation_;                    ///< time to create own_operation_
  std::optional<Finding> finding_;
};

}  // namespace dlscale::bench
