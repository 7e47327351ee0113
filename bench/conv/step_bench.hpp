#pragma once
#include <memory>
#include <optional>
#include <string>

#include "bench/benchmark.hpp"
#include "bench/conv/kernels.hpp"
#include "bench/conv/step_run.hpp"
#include "bench/conv/workbench.hpp"

namespace dlscale::bench {

/// What a kernel is checked against before it is timed.
enum class Check { reference, none };

/// Measures one kernel of a network at one batch and precision. The check against the reference is
/// made once, by every rank, before the first time is taken.
class StepBench {
 public:
  /// `algorithm`: one of ComputeDevice::algorithms() for the kernel; none for what training runs.
  StepBench(std::shared_ptr<Workbench> workbench, std::shared_ptr<const Network> network,
            Kernel kernel, int batch, DType dtype, Check check,
            std::optional<backend::Algorithm> algorithm = {});
  Measurement measure(const Sampler& sampler, CacheState cache);

 private:
  /// What the ranks found together before measuring.
  struct Finding {
    std::string unsupported;  ///< why, else empty
    double error = 0;         ///< against reference, the largest of all ranks
    std::string worst;        ///< the tensor it belongs to
    double mean_error = 0;    ///< on average; of the rank with the largest
  };

  Finding find();
  Finding find_on_all(backend::Communicator& communicator);
  [[nodiscard]] std::optional<Measurement> rejected() const;
  void describe(Measurement& measurement);
  Measurement time(const Sampler& sampler, CacheState cache);
  std::unique_ptr<StepRun> prepare();
  [[nodiscard]] backend::Operation& operation(const train::ProgramPlan& plan);

  std::shared_ptr<Workbench> workbench_;
  std::shared_ptr<const Network> network_;
  Kernel kernel_;
  int batch_;
  DType dtype_;
  Check check_;
  std::optional<backend::Algorithm> algorithm_;
  std::unique_ptr<backend::Operation> own_operation_;  ///< by the algorithm, from find() on
  std::optional<Seconds> creation_;                    ///< of own_operation_
  std::optional<Finding> finding_;
};

}  // namespace dlscale::bench
