#include "bench/conv/check_memory.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include "backend/compute/check/check_data.hpp"

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

}  // namespace dlscale::bench
