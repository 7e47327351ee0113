#include "bench/conv/step_bench.hpp"

#include <chrono>
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
  if (!finding_)
    finding_ = find_on_all(sampler.communicator(),
                           [&] { return find(sampler.communicator().node_size()); });
  Measurement measurement = rejected(*finding_, dtype_).value_or(Measurement{});
  if (measurement.status == Status::ok) measurement = time(sampler, cache);
  measurement.work = work(*network_, kernel_.step, batch_, dtype_);
  add_check(*finding_, check_, measurement);
  return measurement;
}

Finding StepBench::find(int ranks_on_node) {
  try {
    // Of the step, and as much for the gradients of what it reads and writes.
    const Bytes tensors = 2 * work(*network_, kernel_.step, batch_, dtype_).bytes;
    expect_memory(workbench_->device(), tensors, Bytes(), ranks_on_node);
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
      return {.error =
                  accumulate_error(workbench_->device(), plan.outputs[layer], workbench_->values()),
              .worst = "sum of gradients"};
    }
    const backend::OperationCheck check =
        backend::check_operation(workbench_->device(), workbench_->reference(), plan.specs[layer],
                                 operation(plan), kernel_.step.pass, 1);
    return {.error = check.max_relative_error,
            .worst = check.worst,
            .mean_error = check.mean_relative_error};
  } catch (const Unsupported& error) {
    return {.unsupported = error.what()};
  }
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
  const backend::Operation& ran = operation(plan);
  measurement.workspace = Bytes(static_cast<double>(ran.scratch_bytes() + ran.kept_bytes()));
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
