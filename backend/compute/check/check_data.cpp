#include "backend/compute/check/check_data.hpp"

#include <algorithm>
#include <cstddef>

#include "backend/compute/precision.hpp"
#include "backend/compute/random_bits.hpp"

namespace dlscale::backend {
namespace {

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
