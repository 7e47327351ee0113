#include "bench/conv/step_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "backend/compute/check.hpp"
#include "bench/conv/algorithmic_work.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"

namespace dlscale::bench {

StepBench::StepBench(std::shared_ptr<Workbench> workbench, std::shared_ptr<const Network> network,
                     Kernel kernel, int batch, DType dtype, Check check,
                     std::optional<backend::Algorithm> algorithm)
    : workbench_(std::move(workbench)),
      network_(std::move(network)),
      kernel_(std::move(kernel)),
      batch_(batch),
      dtype_(dtype),
      check_(check),
      algorithm_(std::move(algorithm)) {}

Measurement StepBench::measure(const Sampler& sampler, CacheState cache) {
  if (!finding_) finding_ = find_on_all(sampler.communicator());
  Measurement measurement = rejected().value_or(Measurement{});
  if (measurement.status == Status::ok) measurement = time(sampler, cache);
  measurement.work = work(*network_, kernel_.step, batch_, dtype_);
  if (check_ == Check::none) {
    measurement.warnings.emplace_back(
        "the answer was not checked against the reference. Measure with --check yes before you "
        "trust the speed.");
  } else if (finding_->unsupported.empty() && std::isfinite(finding_->error)) {
    measurement.max_relative_error = finding_->error;
    measurement.mean_relative_error = finding_->mean_error;
  }
  return measurement;
}

StepBench::Finding StepBench::find() {
  try {
    const train::ProgramPlan& plan = workbench_->plan(*network_, batch_, dtype_);
    if (algorithm_) {
      const auto start = std::chrono::steady_clock::now();
      own_operation_ = algorithm_->create();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      creation_ = Seconds(elapsed.count());
    }
    if (check_ == Check::none) return {};
    const std::size_t layer = kernel_.step.layer.index();
    if (kernel_.step.pass == Pass::accumulate) {
      return {"", accumulate_error(workbench_->device(), plan.outputs[layer], workbench_->values()),
              "sum of gradients", 0};
    }
    const backend::OperationCheck check =
        backend::check_operation(workbench_->device(), workbench_->reference(), plan.specs[layer],
                                 operation(plan), kernel_.step.pass, 1);
    return {"", check.max_relative_error, check.worst, check.mean_relative_error};
  } catch (const Unsupported& error) {
    return {error.what(), 0, "", 0};
  }
}

/// All ranks must go the same way: whoever measures alone waits for the others for ever.
StepBench::Finding StepBench::find_on_all(backend::Communicator& communicator) {
  Finding mine;
  together(communicator, [&] { mine = find(); });
  const double error = std::isnan(mine.error) ? HUGE_VAL : mine.error;
  const double mean = std::isnan(mine.mean_error) ? HUGE_VAL : mine.mean_error;
  std::array<double, 3> worst{mine.unsupported.empty() ? 0.0 : 1.0, error, mean};
  communicator.all_reduce(worst, backend::Reduction::max);
  if (worst[0] > 0 && mine.unsupported.empty()) mine.unsupported = "another rank cannot run it";
  if (worst[1] > error) mine.worst = "a result on another rank";
  mine.error = worst[1];
  mine.mean_error = worst[2];
  return mine;
}

std::optional<Measurement> StepBench::rejected() const {
  Measurement measurement;
  const double allowed = backend::allowed_error(dtype_);
  if (!finding_->unsupported.empty()) {
    measurement.status = Status::unsupported;
    measurement.reason = finding_->unsupported;
  } else if (finding_->error > allowed) {
    measurement.status = Status::wrong;
    measurement.reason = fmt::format(
        "{} differs from the reference by {:.1e}, relative ({:.0e} is "
        "allowed for {})",
        finding_->worst, finding_->error, allowed, dtype_name(dtype_));
  } else {
    return std::nullopt;
  }
  return measurement;
}

Measurement StepBench::time(const Sampler& sampler, CacheState cache) {
  std::unique_ptr<StepRun> run;
  together(sampler.communicator(), [&] { run = prepare(); });
  Measurement measurement =
      workbench_->sample(sampler, cache, run->produced(), [&run] { run->run(); });
  measurement.implementation = run->implementation();
  describe(measurement);
  return measurement;
}

/// What is known of the algorithm that ran, from its own words.
void StepBench::describe(Measurement& measurement) {
  if (kernel_.step.pass == Pass::accumulate) return;
  const train::ProgramPlan& plan = workbench_->plan(*network_, batch_, dtype_);
  measurement.workspace = Bytes(static_cast<double>(operation(plan).scratch_bytes()));
  measurement.creation = creation_;
  measurement.algorithmic_work =
      algorithmic_work(workbench_->device().name(), measurement.implementation,
                       {kernel_.key, kernel_.step.pass, batch_, dtype_, workbench_->threads()});
}

std::unique_ptr<StepRun> StepBench::prepare() {
  const train::ProgramPlan& plan = workbench_->plan(*network_, batch_, dtype_);
  const auto [layer, pass] = kernel_.step;
  if (pass == Pass::accumulate) {
    return make_accumulate_run(workbench_->device(), plan.outputs[layer.index()],
                               network_->consumers(layer).size(), workbench_->values());
  }
  return make_operation_run(workbench_->device(), plan.specs[layer.index()], operation(plan), pass,
                            workbench_->values());
}

backend::Operation& StepBench::operation(const train::ProgramPlan& plan) {
  return own_operation_ ? *own_operation_ : *plan.operations[kernel_.step.layer.index()];
}

}  // namespace dlscale::bench
