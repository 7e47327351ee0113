#include "bench/conv/step_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/check/check_data.hpp"
#include "backend/compute/specification.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/step_run.hpp"
#include "core/base/error.hpp"
#include "core/convolution/work.hpp"

namespace dlscale::bench {
namespace {

/// Numbers of elements of a layer's tensors, and of the largest one.
struct Elements {
  double inputs = 0;
  double parameters = 0;
  double output = 0;
  double largest = 0;
  [[nodiscard]] double all() const { return inputs + parameters + output; }
};

Elements elements_of(const backend::OperationSpec& spec, const backend::Operation& operation) {
  Elements found;
  const auto count = [&](const backend::TensorDesc& desc, double& sum) {
    const auto elements = static_cast<double>(desc.elements());
    sum += elements;
    found.largest = std::max(found.largest, elements);
  };
  for (const backend::TensorDesc& input : spec.inputs) count(input, found.inputs);
  for (const backend::Parameter& parameter : operation.parameters()) {
    count(parameter.value, found.parameters);
  }
  count(operation.output(), found.output);
  return found;
}

// Images of a large batch that are compared, and the most filter gradients that are compared over
// all images, as channels squared.
constexpr double compared_images = std::tuple_size_v<backend::ChosenImages>;
constexpr double sampled_channels = backend::FilterSample::most * backend::FilterSample::most;

/// Number of elements that the reference reads and writes.
double reference_elements(const backend::OperationSpec& spec, const Elements& of, Pass pass) {
  const LayerKind& kind = spec.layer.kind;
  const bool dependent =
      std::holds_alternative<BatchNorm>(kind) || std::holds_alternative<Dropout>(kind);
  if (dependent || spec.batch <= compared_images) return of.all();
  const double share = compared_images / spec.batch;
  const double chosen = share * (of.inputs + of.output) + of.parameters;
  if (pass != Pass::backward_filter) return chosen;
  const auto sampled = [](std::int64_t channels) {
    return std::min(1.0, sampled_channels / static_cast<double>(channels));
  };
  const double filters = sampled(spec.inputs.front().dims[1]) * of.inputs + of.parameters +
                         sampled(spec.layer.output.channels) * of.output;
  return std::max(chosen, filters);
}

constexpr double counted_bytes = 4;  ///< per element in algorithm_work()

/// Whether all data has the precision of the tensors. Transformed planes and sums may differ.
bool is_of_one_precision(convolution::Method method) {
  return method == convolution::Method::direct || method == convolution::Method::im2col;
}

/// Workspace besides the tensors for all passes, as forward runs before a backward pass.
Bytes workspace_of(const backend::Operation& operation) {
  return Bytes(static_cast<double>(operation.scratch_bytes() + operation.kept_bytes()));
}

/// Workspace of one pass, with the filters that forward keeps.
Bytes workspace_of(const backend::Operation& operation, Pass pass) {
  const std::size_t kept = pass == Pass::forward ? operation.kept_bytes() : 0;
  return Bytes(static_cast<double>(operation.pass_scratch_bytes(pass) + kept));
}

/// Whether the device still works after a failure.
bool still_works(backend::ComputeDevice& device) {
  try {
    device.synchronize();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

CheckMemory check_memory(const backend::OperationSpec& spec, const backend::Operation& operation,
                         Pass pass) {
  const Elements of = elements_of(spec, operation);
  constexpr double size = sizeof(float);
  // A layer with a ReLU also saves its output.
  const double data = of.all() + (spec.layer.relu ? of.output : 0);
  // Its tensors and their gradients, a copy in progress and a result.
  const double reference = 5 * reference_elements(spec, of, pass);
  return {.beside = Bytes(size * (data + 2 * of.largest)),
          .after = Bytes(size * (data + of.largest + reference))};
}

std::optional<Work> algorithmic_work(std::string_view backend, std::string_view implementation,
                                     const MeasuredKernel& kernel) {
  const auto convolution = parse_convolution_key(kernel.key, kernel.batch);
  const auto kept = convolution::with_kept_filters(implementation);
  const auto method = convolution::method_of(kept.value_or(implementation));
  if (!convolution || !method) return std::nullopt;
  const auto element = static_cast<double>(element_bytes(kernel.dtype));
  if (element != counted_bytes && !is_of_one_precision(*method)) return std::nullopt;
  const convolution::Blocking blocking = convolution::blocking_of(backend);
  if (*method != convolution::Method::direct &&
      !convolution::refusal(*method, convolution->shape, blocking).empty()) {
    return std::nullopt;
  }
  const convolution::AlgorithmWork work =
      convolution::algorithm_work(*method, convolution->shape, kernel.pass,
                                  {.blocking = blocking,
                                   .threads = kernel.threads,
                                   .vector_floats = convolution::vector_floats(implementation),
                                   .bias = convolution->bias,
                                   .relu = convolution->relu,
                                   .kept_filters = kept.has_value()});
  return Work{work.flops(), (element / counted_bytes) * work.bytes()};
}

StepBench::StepBench(std::shared_ptr<Workbench> workbench, std::shared_ptr<const Network> network,
                     Kernel kernel, int batch, DType dtype, Check check, Variant variant)
    : workbench_(std::move(workbench)),
      network_(std::move(network)),
      kernel_(std::move(kernel)),
      batch_(batch),
      dtype_(dtype),
      check_(check),
      variant_(std::move(variant)) {}

Measurement StepBench::measure(const Sampler& sampler, const Conditions& conditions) {
  if (!finding_)
    finding_ = find_on_all(sampler.communicator(),
                           [&] { return find(sampler.communicator().node_size()); });
  Finding finding = *finding_;
  if (!rejected(finding, dtype_)) {
    finding.unsupported = find_room(sampler, conditions.cache).unsupported;
  }
  Measurement measurement = rejected(finding, dtype_).value_or(Measurement{});
  if (measurement.status == Status::ok) measurement = time(sampler, conditions);
  measurement.work = work(*network_, kernel_.step, batch_, dtype_);
  add_check(finding, check_, measurement);
  return measurement;
}

int StepBench::sets(CacheState cache) const {
  return operand_sets(*workbench_, cache, work(*network_, kernel_.step, batch_, dtype_).bytes);
}

/// Whether all sets of operands fit together; find() has checked a single set.
Finding StepBench::find_room(const Sampler& sampler, CacheState cache) {
  return bench::find_room(sampler.communicator(), *workbench_, sets(cache), [&] {
    const Bytes tensors = 2 * work(*network_, kernel_.step, batch_, dtype_).bytes;
    if (kernel_.step.pass == Pass::accumulate) return tensors;
    return tensors + workspace_of(operation(workbench_->plan(*network_, batch_, dtype_)));
  });
}

Finding StepBench::find(int ranks_on_node) {
  try {
    // The step's tensors, and as much for their gradients.
    const Bytes tensors = 2 * work(*network_, kernel_.step, batch_, dtype_).bytes;
    expect_memory(workbench_->device(), tensors, Bytes(), ranks_on_node);
    const train::ProgramPlan& plan = workbench_->plan(*network_, batch_, dtype_);
    const bool accumulates = kernel_.step.pass == Pass::accumulate;
    if (!accumulates && (variant_.algorithm || variant_.layout)) make_own_operation(plan);
    expect_room(plan, tensors, ranks_on_node);
    return variant_.algorithm ? tried(plan) : checked(plan);
  } catch (const Unsupported& error) {
    return {.unsupported = error.what()};
  }
}

/// Checks one of several algorithms. A library may refuse an algorithm only at run time. This is a
/// finding, and other algorithms are still measured, unless the device has failed. Throws
/// Unsupported.
Finding StepBench::tried(const train::ProgramPlan& plan) {
  try {
    if (check_ == Check::none) {
      prepare_one(workbench_->values())->run();
      workbench_->device().synchronize();
    }
    return checked(plan);
  } catch (const LibraryError& error) {
    if (!still_works(workbench_->device())) throw;
    throw Unsupported(fmt::format("it was created, but failed when it ran: {}", error.what()));
  }
}

Finding StepBench::checked(const train::ProgramPlan& plan) {
  if (check_ == Check::none) return {};
  if (kernel_.step.pass == Pass::accumulate) {
    return {.error = accumulate_error(workbench_->device(), gradient(plan), workbench_->values()),
            .worst = "sum of gradients"};
  }
  const backend::OperationCheck check =
      backend::check_operation(workbench_->device(), workbench_->reference(), spec(plan),
                               operation(plan), kernel_.step.pass, 1, workbench_->answers().get());
  return {.error = check.max_relative_error,
          .worst = check.worst,
          .mean_error = check.mean_relative_error};
}

/// Checks memory for `tensors`, for the workspace, which is known once the operation exists, and
/// for the check. Throws Unsupported.
void StepBench::expect_room(const train::ProgramPlan& plan, Bytes tensors, int ranks_on_node) {
  const backend::ComputeDevice& device = workbench_->device();
  if (kernel_.step.pass == Pass::accumulate) {
    const Bytes copies = accumulate_copies(gradient(plan));
    return expect_memory(device, tensors, check_ == Check::none ? Bytes() : copies, ranks_on_node);
  }
  const Bytes operands = tensors + workspace_of(operation(plan));
  if (check_ == Check::none) return expect_memory(device, operands, Bytes(), ranks_on_node);
  const CheckMemory check = check_memory(spec(plan), operation(plan), kernel_.step.pass);
  expect_memory(device, operands, check.beside, ranks_on_node);
  expect_host_memory("the copies that its check compares", check.after, ranks_on_node);
}

void StepBench::make_own_operation(const train::ProgramPlan& plan) {
  const backend::OperationSpec of = spec(plan);
  creation_ = timed([&] {
    own_operation_ =
        variant_.algorithm ? variant_.algorithm->create() : workbench_->device().create(of);
  });
  if (!variant_.layout || !own_operation_->has(kernel_.step.pass)) return;
  backend::expect_laid_out(workbench_->device(), of, *own_operation_, kernel_.step.pass);
}

Measurement StepBench::time(const Sampler& sampler, const Conditions& conditions) {
  const OperandValues values(conditions.values);
  Measurement measurement =
      sample_on_sets(*workbench_, sampler, conditions.cache, sets(conditions.cache),
                     [&] { return prepare_one(values); });
  describe(measurement);
  return measurement;
}

/// Adds facts about the algorithm that ran, from its implementation's name.
void StepBench::describe(Measurement& measurement) {
  if (kernel_.step.pass == Pass::accumulate) return;
  const train::ProgramPlan& plan = workbench_->plan(*network_, batch_, dtype_);
  const backend::Operation& ran = operation(plan);
  measurement.workspace = workspace_of(ran, kernel_.step.pass);
  measurement.creation = creation_;
  measurement.algorithmic_work =
      algorithmic_work(workbench_->device().name(), measurement.implementation,
                       {kernel_.key, kernel_.step.pass, batch_, dtype_, workbench_->threads()});
  if (!std::holds_alternative<Convolution>(network_->layer(kernel_.step.layer).kind)) return;
  measurement.implementation +=
      fmt::format("; input {}, filters {}, output {}", spec(plan).inputs.front().layout.name,
                  ran.parameters().front().value.layout.name, ran.output().layout.name);
}

std::unique_ptr<StepRun> StepBench::prepare_one(const OperandValues& values) {
  const train::ProgramPlan& plan = workbench_->plan(*network_, batch_, dtype_);
  const auto [layer, pass] = kernel_.step;
  if (pass == Pass::accumulate) {
    return make_accumulate_run(workbench_->device(), gradient(plan),
                               network_->consumers(layer).size(), values);
  }
  return make_operation_run(workbench_->device(), spec(plan), operation(plan), pass, values);
}

/// The spec in the requested layout, if any. Throws Unsupported.
backend::OperationSpec StepBench::spec(const train::ProgramPlan& plan) const {
  const backend::OperationSpec& trained = plan.specs[kernel_.step.layer.index()];
  if (!variant_.layout) return trained;
  return backend::laid_out(workbench_->device(), trained, *variant_.layout);
}

/// The tensor that Pass::accumulate adds to, in that layout.
backend::TensorDesc StepBench::gradient(const train::ProgramPlan& plan) const {
  const backend::TensorDesc& trained = plan.outputs[kernel_.step.layer.index()];
  if (!variant_.layout) return trained;
  return workbench_->device().arranged(trained.dims, trained.dtype, *variant_.layout);
}

backend::Operation& StepBench::operation(const train::ProgramPlan& plan) {
  return own_operation_ ? *own_operation_ : *plan.operations[kernel_.step.layer.index()];
}

}  // namespace dlscale::bench
