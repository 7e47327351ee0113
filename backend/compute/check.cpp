#include "backend/compute/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/operation_memory.hpp"
#include "backend/compute/precision.hpp"
#include "backend/compute/specification.hpp"
#include "core/error.hpp"

namespace dlscale::backend {

namespace {

using Values = std::vector<float>;

/// 64 random bits for each place of each stream.
std::uint64_t random_bits(std::uint64_t stream, std::uint64_t place) {
  std::uint64_t z = (stream * 0x9E3779B97F4A7C15U + place + 1) * 0xD1342543DE82EF95U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Numbers of mean 0 and variance 1, nearly normal (the sum of four uniform numbers), by counter.
Values noise(std::int64_t n, std::uint64_t seed) {
  Values values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t z = random_bits(seed, i);
    const auto sum =
        static_cast<float>((z & 0xFFFF) + (z >> 16 & 0xFFFF) + (z >> 32 & 0xFFFF) + (z >> 48));
    values[i] = (sum - 131070.0F) / 37837.0F;  // 4 · 65535 / 2 and 65536 · sqrt(4 / 12)
  }
  return values;
}

/// Everything one pass reads, in plain order.
struct Data {
  std::vector<Values> inputs;
  std::vector<Values> parameters;
  Values output_gradient;
  std::vector<std::int32_t> labels;
  /// What forward is taken to have put out, where a ReLU's backward depends on its signs; empty:
  /// what it does.
  Values output;
};

using Result = ReferenceAnswers::Tensor;

bool images_are_independent(const LayerKind& kind) {
  return !std::holds_alternative<BatchNorm>(kind) && !std::holds_alternative<Dropout>(kind);
}

/// The images of a batch that are compared, in order.
using Chosen = std::array<int, 3>;

/// The first, the last, and one between them. Requires n ≥ 3.
Chosen choose_images(int n, std::uint64_t seed) {
  const auto between = static_cast<std::uint64_t>(n) - 2;
  return {0, 1 + static_cast<int>(random_bits(seed, between) % between), n - 1};
}

/// Keeps the chosen ones of n images.
Values keep(const Values& values, int n, const Chosen& chosen) {
  const auto image = static_cast<std::ptrdiff_t>(values.size()) / n;
  Values kept;
  for (const int i : chosen) {
    kept.insert(kept.end(), values.begin() + i * image, values.begin() + (i + 1) * image);
  }
  return kept;
}

void clear_all_but(const Chosen& chosen, Values& values, int n) {
  const auto image = static_cast<std::ptrdiff_t>(values.size()) / n;
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    std::fill(values.begin() + (chosen[i - 1] + 1) * image, values.begin() + chosen[i] * image,
              0.0F);
  }
}

void round_to(DType dtype, Values& values) {
  for (float& value : values) value = rounded(dtype, value);
}

Values noise_for(const TensorDesc& desc, std::uint64_t seed) {
  Values values = noise(desc.elements(), seed);
  round_to(desc.dtype, values);
  return values;
}

Data make_data(const OperationSpec& spec, const Operation& operation, std::uint64_t seed) {
  Data data;
  std::uint64_t stream = seed * 64;
  for (const TensorDesc& input : spec.inputs) data.inputs.push_back(noise_for(input, ++stream));
  for (const Parameter& parameter : operation.parameters()) {
    data.parameters.push_back(noise_for(parameter.value, ++stream));
  }
  data.output_gradient = noise_for(operation.output(), ++stream);
  const auto classes = static_cast<std::uint64_t>(spec.layer.input_shapes.front().elements());
  for (int n = 0; n < spec.batch; ++n) {
    data.labels.push_back(
        static_cast<std::int32_t>((seed + 7 * static_cast<std::uint64_t>(n)) % classes));
  }
  return data;
}

Data reduce(const Data& data, int batch, const Chosen& chosen) {
  Data reduced{.inputs = {},
               .parameters = data.parameters,
               .output_gradient = {},
               .labels = {},
               .output = {}};
  for (const Values& input : data.inputs) reduced.inputs.push_back(keep(input, batch, chosen));
  reduced.output_gradient = keep(data.output_gradient, batch, chosen);
  for (const int image : chosen) reduced.labels.push_back(data.labels[image]);
  if (!data.output.empty()) reduced.output = keep(data.output, batch, chosen);
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

/// What is written must not depend on what was there.
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

/// Runs a pass and what has to come before it. Of a layer with a ReLU forward's output is left in
/// `data`, or taken from there.
std::vector<Result> run(ComputeDevice& device, Operation& operation, const OperationSpec& spec,
                        Data& data, Pass pass, std::uint64_t seed) {
  constexpr std::uint64_t same_weights = 1;
  OperationMemory memory(device, spec, operation);
  fill(device, memory, data);
  operation.run(Pass::forward, memory.operands(seed, same_weights));
  if (operation.kept_bytes() > 0) {  // the answer of what was kept is the one to compare
    spoil(device, memory.output());
    operation.run(Pass::forward, memory.operands(seed, same_weights));
  }
  if (spec.layer.relu && pass != Pass::forward) {
    if (data.output.empty()) {
      data.output = download(device, memory.output());
    } else {
      upload(device, data.output, memory.output());
    }
    const bool masks_before = pass == Pass::backward_data && operation.has(Pass::backward_filter);
    if (masks_before) operation.run(Pass::backward_filter, memory.operands(seed));
  }
  if (pass != Pass::forward) operation.run(pass, memory.operands(seed));
  device.synchronize();
  return download_results(device, operation, memory, spec.layer.kind, pass);
}

double root_mean_square(const Values& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Of the elements of a tensor.
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

/// All that the reference's answer to a convolution depends on; nothing for other layers, which are
/// cheap, and where a ReLU makes it depend on what the device put out.
std::optional<std::string> answer_key(const OperationSpec& spec, const Operation& operation,
                                      Pass pass, std::uint64_t seed) {
  const auto* kind = std::get_if<Convolution>(&spec.layer.kind);
  if (kind == nullptr || spec.layer.relu) return std::nullopt;
  std::string dtypes{dtype_name(operation.output().dtype)};  // to which data are rounded
  for (const Parameter& parameter : operation.parameters()) {
    dtypes += fmt::format(" {}", dtype_name(parameter.value.dtype));
  }
  return fmt::format(
      "{} of {}, {} to {}, {} x {}, stride {}, pad {}, {} groups, bias {}, {}, {}, {}",
      pass_name(pass), fmt::join(spec.inputs.front().dims, " x "), dtype_name(spec.dtype),
      kind->out_channels, kind->kernel_h, kind->kernel_w, kind->stride, kind->pad, kind->groups,
      kind->bias, spec.batch, seed, dtypes);
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
  std::optional<Chosen> chosen;  // nothing: all images
  if (spec.batch > 3 && images_are_independent(spec.layer.kind)) {
    chosen = choose_images(spec.batch, seed);
  }
  const OperationSpec plain =
      reference_spec(spec, reference, chosen ? static_cast<int>(chosen->size()) : spec.batch);
  const auto model = reference.create(plain);

  Data data = make_data(spec, operation, seed);
  if (chosen) clear_all_but(*chosen, data.output_gradient, spec.batch);
  std::vector<Result> got = run(device, operation, spec, data, pass, seed);
  for (Result& result : got) {
    if (chosen && result.extent == Result::Extent::batch) {
      result.values = keep(result.values, spec.batch, *chosen);
    }
  }
  const auto ask = [&] {
    if (chosen) data = reduce(data, spec.batch, *chosen);
    return run(reference, *model, plain, data, pass, seed);
  };
  const auto key = answer_key(spec, operation, pass, seed);
  return compare(got, answers != nullptr && key ? answers->get(*key, ask) : ask());
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
