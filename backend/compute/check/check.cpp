#include "backend/compute/check/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compute/check/check_data.hpp"
#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

namespace {

using Values = FilterSample::Values;
using Data = CheckData;
using Result = ReferenceAnswers::Tensor;

bool images_are_independent(const LayerKind& kind) {
  return !std::holds_alternative<BatchNorm>(kind) && !std::holds_alternative<Dropout>(kind);
}

/// The layer of these filters alone, for the same batch.
OperationSpec sampled_spec(const OperationSpec& spec, const FilterSample& sample) {
  OperationSpec reduced = spec;
  reduced.layer = sample.layer();
  reduced.inputs.front().dims[1] = sample.layer().input_shapes.front().channels;
  return reduced;
}

/// The same operation for the reference: f32, plain, `batch` images.
OperationSpec reference_spec(const OperationSpec& spec, const ComputeDevice& reference, int batch) {
  OperationSpec plain = spec;
  plain.batch = batch;
  plain.dtype = DType::f32;
  plain.layout.reset();
  for (TensorDesc& input : plain.inputs) {
    input = reference.plain({batch, input.dims[1], input.dims[2], input.dims[3]}, DType::f32);
  }
  if (auto* loss = std::get_if<SoftmaxCrossEntropy>(&plain.layer.kind)) {
    loss->loss_weight *= static_cast<double>(batch) / spec.batch;  // the mean is over the batch
  }
  return plain;
}

void upload(ComputeDevice& device, Values values, const Tensor& to) {
  const TensorDesc plain = device.plain(to.desc.dims, DType::f32);
  device.copy({plain, reinterpret_cast<std::byte*>(values.data())}, to);
  device.synchronize();
}

Values download(ComputeDevice& device, const Tensor& from) {
  Values values(static_cast<std::size_t>(from.desc.elements()));
  const TensorDesc plain = device.plain(from.desc.dims, DType::f32);
  device.copy(from, {plain, reinterpret_cast<std::byte*>(values.data())});
  device.synchronize();
  return values;
}

/// The result must not depend on the previous content of its memory.
void spoil(ComputeDevice& device, const Tensor& tensor) {
  upload(device, Values(static_cast<std::size_t>(tensor.desc.elements()), 7.0F), tensor);
}

void fill(ComputeDevice& device, OperationMemory& memory, const Data& data) {
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    upload(device, data.inputs[i], memory.inputs()[i]);
  }
  for (const Tensor& gradient : memory.input_gradients()) spoil(device, gradient);
  for (std::size_t i = 0; i < data.parameters.size(); ++i) {
    upload(device, data.parameters[i], memory.parameters()[i]);
    spoil(device, memory.parameter_gradients()[i]);
  }
  spoil(device, memory.output());
  upload(device, data.output_gradient, memory.output_gradient());
  memory.labels() = data.labels;
}

std::string gradient_name(ParameterRole role) {
  switch (role) {
    case ParameterRole::weight:
      return "weight gradient";
    case ParameterRole::bias:
      return "bias gradient";
    case ParameterRole::scale:
      return "scale gradient";
    case ParameterRole::shift:
      return "shift gradient";
  }
  fail_expectation("a known ParameterRole");
}

std::vector<Result> download_results(ComputeDevice& device, const Operation& operation,
                                     const OperationMemory& memory, const LayerKind& kind,
                                     Pass pass) {
  std::vector<Result> results;
  if (pass == Pass::forward) {
    results.push_back({"output", Result::Extent::batch, download(device, memory.output())});
  }
  if (pass == Pass::backward_data) {
    for (const Tensor& gradient : memory.input_gradients()) {
      results.push_back({fmt::format("input gradient {}", results.size()), Result::Extent::batch,
                         download(device, gradient)});
    }
  }
  if (pass == Pass::backward_filter || std::holds_alternative<BatchNorm>(kind)) {
    for (std::size_t i = 0; pass != Pass::forward && i < operation.parameters().size(); ++i) {
      results.push_back({gradient_name(operation.parameters()[i].role), Result::Extent::whole,
                         download(device, memory.parameter_gradients()[i])});
    }
  }
  return results;
}

/// One pass of an operation to try.
struct Trial {
  ComputeDevice& device;
  Operation& operation;
  const OperationSpec& spec;
  Pass pass;
  std::uint64_t seed;
};

/// Runs the passes that must precede the pass. For a layer with a ReLU, forward's output is stored
/// in `data`, or taken from it.
void prepare(const Trial& trial, OperationMemory& memory, Data& data) {
  constexpr std::uint64_t same_weights = 1;
  auto& [device, operation, spec, pass, seed] = trial;
  fill(device, memory, data);
  operation.run(Pass::forward, memory.operands(seed, same_weights));
  if (operation.kept_bytes() > 0) {  // compares the answer by what was kept
    spoil(device, memory.output());
    operation.run(Pass::forward, memory.operands(seed, same_weights));
  }
  if (!spec.layer.relu || pass == Pass::forward) return;
  if (data.output.empty()) {
    data.output = download(device, memory.output());
  } else {
    upload(device, data.output, memory.output());
  }
}

/// Runs the pass itself, unless it is forward, which has run.
std::vector<Result> finish(const Trial& trial, OperationMemory& memory) {
  auto& [device, operation, spec, pass, seed] = trial;
  const bool masks_before = spec.layer.relu && pass == Pass::backward_data;
  if (masks_before && operation.has(Pass::backward_filter)) {
    operation.run(Pass::backward_filter, memory.operands(seed));
  }
  if (pass != Pass::forward) operation.run(pass, memory.operands(seed));
  device.synchronize();
  return download_results(device, operation, memory, spec.layer.kind, pass);
}

std::vector<Result> run(const Trial& trial, Data& data) {
  OperationMemory memory(trial.device, trial.spec, trial.operation);
  prepare(trial, memory, data);
  return finish(trial, memory);
}

/// A sum over images, computed twice.
struct Sums {
  std::vector<Result> of_chosen;   ///< sum with the gradient of the chosen images only
  std::vector<Result> of_filters;  ///< the sampled filters of the sum over all images
};

/// Clears all gradients in `data` but those of the chosen images, and stores the reference's input
/// for the sampled filters in `sampled`.
Sums run_sums(const Trial& trial, const ChosenImages& chosen, const FilterSample& sample,
              Data& data, Data& sampled) {
  OperationMemory memory(trial.device, trial.spec, trial.operation);
  prepare(trial, memory, data);
  Sums sums;
  sums.of_filters = finish(trial, memory);
  const std::vector<Parameter>& parameters = trial.operation.parameters();
  EXPECT(sums.of_filters.size() == parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Values& values = sums.of_filters[i].values;
    values = sample.parameter(parameters[i].role, values);
  }
  sampled = reduce(data, sample, trial.spec.batch, parameters);
  clear_all_but(chosen, data.output_gradient, trial.spec.batch);
  upload(trial.device, data.output_gradient, memory.output_gradient());
  for (const Tensor& gradient : memory.parameter_gradients()) spoil(trial.device, gradient);
  sums.of_chosen = finish(trial, memory);
  return sums;
}

double root_mean_square(const Values& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Relative errors of a tensor's elements.
struct Errors {
  double worst = 0;
  double sum = 0;
};

Errors relative_errors(const Values& got, const Values& expected) {
  EXPECT(got.size() == expected.size());
  const double typical = root_mean_square(expected);
  Errors errors;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == expected[i]) continue;
    const double difference = std::abs(double{got[i]} - double{expected[i]});
    const double error = difference / std::max(std::abs(double{expected[i]}), typical);
    if (!std::isfinite(error)) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      return {infinity, infinity};
    }
    errors.worst = std::max(errors.worst, error);
    errors.sum += error;
  }
  return errors;
}

OperationCheck compare(const std::vector<Result>& got, const std::vector<Result>& expected) {
  EXPECT(got.size() == expected.size());
  OperationCheck check;
  double sum = 0;
  double elements = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Errors errors = relative_errors(got[i].values, expected[i].values);
    sum += errors.sum;
    elements += static_cast<double>(got[i].values.size());
    if (i > 0 && !(errors.worst > check.max_relative_error)) continue;
    check.max_relative_error = errors.worst;
    check.worst = got[i].name;
  }
  check.mean_relative_error = elements > 0 ? sum / elements : 0;
  return check;
}

/// Key of everything that the reference's answer to a convolution depends on. Nothing for other
/// layers, which are cheap, and where a ReLU makes the answer depend on the device's output.
std::optional<std::string> answer_key(const OperationSpec& spec, const Operation& operation,
                                      Pass pass, std::uint64_t seed) {
  const auto* kind = std::get_if<Convolution>(&spec.layer.kind);
  if (kind == nullptr || spec.layer.relu) return std::nullopt;
  std::string dtypes{dtype_name(operation.output().dtype)};  // data are rounded to these
  for (const Parameter& parameter : operation.parameters()) {
    dtypes += fmt::format(" {}", dtype_name(parameter.value.dtype));
  }
  return fmt::format(
      "{} of {}, {} to {}, {} x {}, stride {}, pad {}, {} groups, bias {}, {}, {}, {}",
      pass_name(pass), fmt::join(spec.inputs.front().dims, " x "), dtype_name(spec.dtype),
      kind->out_channels, kind->kernel_h, kind->kernel_w, kind->stride, kind->pad, kind->groups,
      kind->bias, spec.batch, seed, dtypes);
}

/// The pass to try, and the source of the right answer.
struct Examination {
  Trial trial;
  ComputeDevice& reference;
  ReferenceAnswers* answers;  ///< null: none are kept
};

/// Compares with the reference, which runs `plain` on `data` unless it has answered that before.
/// `of` is the part of the answer, for the key.
OperationCheck compare(const Examination& examination, const std::vector<Result>& got,
                       std::string_view of, const OperationSpec& plain, Data& data) {
  const Trial& trial = examination.trial;
  const auto ask = [&] {
    const auto model = examination.reference.create(plain);
    return run({examination.reference, *model, plain, trial.pass, trial.seed}, data);
  };
  const auto key = answer_key(trial.spec, trial.operation, trial.pass, trial.seed);
  if (examination.answers == nullptr || !key) return compare(got, ask());
  return compare(got, examination.answers->get(fmt::format("{}{}", of, *key), ask));
}

OperationCheck compare_all(const Examination& examination, Data& data) {
  const std::vector<Result> got = run(examination.trial, data);
  const OperationSpec& spec = examination.trial.spec;
  return compare(examination, got, "", reference_spec(spec, examination.reference, spec.batch),
                 data);
}

/// `got` and the gradients in `data` are those of the chosen images alone.
OperationCheck compare_chosen(const Examination& examination, const ChosenImages& chosen,
                              const std::vector<Result>& got, const Data& data) {
  const OperationSpec& spec = examination.trial.spec;
  Data of_chosen = reduce(data, spec.batch, chosen);
  const auto images = static_cast<int>(chosen.size());
  return compare(examination, got, "", reference_spec(spec, examination.reference, images),
                 of_chosen);
}

/// Compares all filters for the chosen images, and some for all images. The mean errors are those
/// of the latter, whose sums are as long as in a timed pass.
OperationCheck compare_sums(const Examination& examination, const ChosenImages& chosen,
                            Data& data) {
  const Trial& trial = examination.trial;
  const FilterSample sample(trial.spec.layer, trial.seed);
  Data sampled;
  const Sums got = run_sums(trial, chosen, sample, data, sampled);
  OperationCheck check = compare_chosen(examination, chosen, got.of_chosen, data);
  const OperationSpec plain =
      reference_spec(sampled_spec(trial.spec, sample), examination.reference, trial.spec.batch);
  const OperationCheck of_filters =
      compare(examination, got.of_filters, "some filters of ", plain, sampled);
  check.mean_relative_error = of_filters.mean_relative_error;
  if (of_filters.max_relative_error > check.max_relative_error) {
    check.max_relative_error = of_filters.max_relative_error;
    check.worst = of_filters.worst;
  }
  return check;
}

}  // namespace

OperationCheck check_operation(ComputeDevice& device, ComputeDevice& reference,
                               const OperationSpec& spec, Pass pass, std::uint64_t seed) {
  return check_operation(device, reference, spec, *device.create(spec), pass, seed);
}

OperationCheck check_operation(ComputeDevice& device, ComputeDevice& reference,
                               const OperationSpec& spec, Operation& operation, Pass pass,
                               std::uint64_t seed, ReferenceAnswers* answers) {
  if (!operation.has(pass)) {
    throw Unsupported(
        fmt::format("{} has no pass {} on {}", describe(spec), pass_name(pass), device.name()));
  }
  const Examination examination{{device, operation, spec, pass, seed}, reference, answers};
  Data data = make_check_data(spec, operation, seed);
  if (spec.batch <= 3 || !images_are_independent(spec.layer.kind)) {
    return compare_all(examination, data);
  }
  const ChosenImages chosen = choose_images(spec.batch, seed);
  if (pass == Pass::backward_filter) return compare_sums(examination, chosen, data);
  clear_all_but(chosen, data.output_gradient, spec.batch);
  std::vector<Result> got = run(examination.trial, data);
  for (Result& result : got) {
    if (result.extent == Result::Extent::batch) {
      result.values = keep(result.values, spec.batch, chosen);
    }
  }
  return compare_chosen(examination, chosen, got, data);
}

double largest_error(const std::vector<float>& got, const std::vector<float>& expected) {
  return relative_errors(got, expected).worst;
}

double allowed_error(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 2e-4;
    case DType::tf32:
      return 2e-3;
    case DType::bf16:
      return 5e-2;
    case DType::f16:
      return 1e-2;
  }
  fail_expectation("a known DType");
}

}  // namespace dlscale::backend
