#pragma once
#include <memory>
#include <optional>
#include <string>

#include "bench/conv/conditions.hpp"
#include "bench/conv/finding.hpp"
#include "bench/conv/kernels.hpp"
#include "bench/conv/step_run.hpp"
#include "bench/conv/values.hpp"
#include "bench/conv/workbench.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

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
