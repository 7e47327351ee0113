#include "backend/compute/check/check_data.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <set>
#include <variant>

#include "backend/compute/precision.hpp"
#include "backend/compute/random_bits.hpp"

namespace dlscale::backend {
namespace {

using Values = FilterSample::Values;
using Numbers = std::vector<std::int64_t>;

/// Chosen numbers below n, in ascending order.
Numbers choose(std::int64_t n, std::uint64_t seed) {
  if (n <= FilterSample::most) {
    Numbers all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  }
  const auto between = static_cast<std::uint64_t>(n - 2);
  std::set<std::int64_t> chosen{0, n - 1};
  for (std::uint64_t place = 0; std::ssize(chosen) < FilterSample::most; ++place) {
    chosen.insert(1 + static_cast<std::int64_t>(random_bits(seed, place) % between));
  }
  return {chosen.begin(), chosen.end()};
}

/// Indices into all of members of groups, each of which has `size`.
Numbers in_all(const Numbers& groups, const Numbers& members, std::int64_t size) {
  Numbers numbers;
  for (const std::int64_t group : groups) {
    for (const std::int64_t member : members) numbers.push_back(group * size + member);
  }
  return numbers;
}

/// Keeps the chosen columns of a table of rows × columns whose entries are groups of values.
Values keep_columns(const Values& values, std::int64_t rows, std::int64_t columns,
                    const Numbers& chosen) {
  const std::int64_t entry = std::ssize(values) / (rows * columns);
  Values kept;
  kept.reserve(static_cast<std::size_t>(rows * std::ssize(chosen) * entry));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t column : chosen) {
      const auto first = values.begin() + (row * columns + column) * entry;
      kept.insert(kept.end(), first, first + entry);
    }
  }
  return kept;
}

std::int64_t groups_of(const LayerKind& kind) {
  const auto* convolution = std::get_if<Convolution>(&kind);
  return convolution == nullptr ? 1 : convolution->groups;
}

/// The layer with the given numbers of groups, inputs and outputs.
Layer resized(const Layer& layer, std::int64_t groups, std::int64_t inputs, std::int64_t outputs) {
  Layer sample = layer;
  sample.relu = false;
  sample.input_shapes.front().channels = static_cast<int>(inputs);
  sample.output.channels = static_cast<int>(outputs);
  if (auto* convolution = std::get_if<Convolution>(&sample.kind)) {
    convolution->groups = static_cast<int>(groups);
    convolution->out_channels = static_cast<int>(outputs);
  } else {
    std::get<FullyConnected>(sample.kind).outputs = static_cast<int>(outputs);
  }
  return sample;
}

using Values = FilterSample::Values;

/// Counter-based numbers of mean 0 and variance 1, nearly normal (the sum of four uniform numbers).
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

void round_to(DType dtype, Values& values) {
  for (float& value : values) value = rounded(dtype, value);
}

Values noise_for(const TensorDesc& desc, std::uint64_t seed) {
  Values values = noise(desc.elements(), seed);
  round_to(desc.dtype, values);
  return values;
}

}  // namespace

FilterSample::FilterSample(const Layer& layer, std::uint64_t seed)
    : all_inputs_(layer.input_shapes.front().channels),
      all_outputs_(layer.output.channels),
      inputs_of_group_(all_inputs_ / groups_of(layer.kind)) {
  const std::int64_t all_groups = groups_of(layer.kind);
  const std::int64_t outputs_of_group = all_outputs_ / all_groups;
  const Numbers groups = choose(all_groups, seed * 3);
  inputs_in_group_ = choose(inputs_of_group_, seed * 3 + 1);
  inputs_ = in_all(groups, inputs_in_group_, inputs_of_group_);
  outputs_ = in_all(groups, choose(outputs_of_group, seed * 3 + 2), outputs_of_group);
  sample_ = resized(layer, std::ssize(groups), std::ssize(inputs_), std::ssize(outputs_));
}

Values FilterSample::inputs(const Values& values, std::int64_t images) const {
  return keep_columns(values, images, all_inputs_, inputs_);
}

Values FilterSample::outputs(const Values& values, std::int64_t images) const {
  return keep_columns(values, images, all_outputs_, outputs_);
}

Values FilterSample::parameter(ParameterRole role, const Values& values) const {
  const Values of_outputs = keep_columns(values, 1, all_outputs_, outputs_);
  if (role != ParameterRole::weight) return of_outputs;
  return keep_columns(of_outputs, std::ssize(outputs_), inputs_of_group_, inputs_in_group_);
}

ChosenImages choose_images(int n, std::uint64_t seed) {
  const auto between = static_cast<std::uint64_t>(n) - 2;
  return {0, 1 + static_cast<int>(random_bits(seed, between) % between), n - 1};
}

Values keep(const Values& values, int n, const ChosenImages& chosen) {
  const auto image = static_cast<std::ptrdiff_t>(values.size()) / n;
  Values kept;
  for (const int i : chosen) {
    kept.insert(kept.end(), values.begin() + i * image, values.begin() + (i + 1) * image);
  }
  return kept;
}

void clear_all_but(const ChosenImages& chosen, Values& values, int n) {
  const auto image = static_cast<std::ptrdiff_t>(values.size()) / n;
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    std::fill(values.begin() + (chosen[i - 1] + 1) * image, values.begin() + chosen[i] * image,
              0.0F);
  }
}

CheckData make_check_data(const OperationSpec& spec, const Operation& operation,
                          std::uint64_t seed) {
  CheckData data;
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

CheckData reduce(const CheckData& data, int batch, const ChosenImages& chosen) {
  CheckData reduced{.inputs = {},
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

CheckData reduce(const CheckData& data, const FilterSample& sample, int batch,
                 const std::vector<Parameter>& parameters) {
  CheckData reduced{.inputs = {sample.inputs(data.inputs.front(), batch)},
                    .parameters = {},
                    .output_gradient = sample.outputs(data.output_gradient, batch),
                    .labels = data.labels,
                    .output = {}};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    reduced.parameters.push_back(sample.parameter(parameters[i].role, data.parameters[i]));
  }
  if (data.output.empty()) return reduced;
  const Values output = sample.outputs(data.output, batch);
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (!(output[i] > 0)) reduced.output_gradient[i] = 0;
  }
  return reduced;
}

}  // namespace dlscale::backend
