#include "train/engine/parameters.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "train/data/random.hpp"
#include "train/engine/arena.hpp"

namespace dlscale::train {
namespace {

using backend::Parameter;
using backend::ParameterRole;
using backend::Tensor;

constexpr std::size_t element_alignment = 32;

std::size_t stored_elements(const Parameter& parameter) {
  const std::size_t elements = parameter.gradient.layout.bytes / sizeof(float);
  EXPECT(parameter.value.layout.bytes == elements * element_bytes(parameter.value.dtype));
  return elements;
}

float* floats(const backend::Buffer& buffer) {
  return reinterpret_cast<float*>(buffer.get());
}

/// Plain initial values of a parameter. Weights are normal with variance 2 / fan-in, which
/// preserves the scale of activations through ReLUs [He et al. 2015, section 2.2].
std::vector<float> initial_values(const Parameter& parameter, std::uint64_t key) {
  std::vector<float> values(static_cast<std::size_t>(parameter.value.elements()), 0.0F);
  if (parameter.role == ParameterRole::scale) std::ranges::fill(values, 1.0F);
  if (parameter.role != ParameterRole::weight) return values;
  const auto& dims = parameter.value.dims;
  const double deviation = std::sqrt(2.0 / static_cast<double>(dims[1] * dims[2] * dims[3]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(deviation * standard_normal(key, i));
  }
  return values;
}

}  // namespace

ParameterLayout::ParameterLayout(const Network& network,
                                 std::span<const std::unique_ptr<backend::Operation>> operations)
    : by_layer_(network.layers().size()) {
  for (const Bucket& bucket : gradient_buckets(network, Schedule::sequential)) {
    for (const LayerId layer : bucket.layers) {
      const auto& parameters = operations[layer.index()]->parameters();
      EXPECT(!parameters.empty());
      by_layer_[layer.index()] = {slots_.size(), parameters.size()};
      for (const Parameter& parameter : parameters) {
        const std::size_t elements = stored_elements(parameter);
        slots_.push_back({layer, parameter, elements_, elements});
        elements_ = align_up(elements_ + elements, element_alignment);
      }
    }
  }
}

std::span<const ParameterSlot> ParameterLayout::of(LayerId layer) const {
  const Range range = by_layer_[layer.index()];
  return std::span(slots_).subspan(range.first, range.count);
}

bool ParameterLayout::has_low_precision() const {
  return std::ranges::any_of(slots_, [](const ParameterSlot& slot) {
    return element_bytes(slot.parameter.value.dtype) < sizeof(float);
  });
}

std::string ParameterLayout::description() const {
  std::string text;
  for (const ParameterSlot& slot : slots_) {
    text += slot.parameter.gradient.layout.name + " " + std::to_string(slot.elements) + "\n";
  }
  return text;
}

Parameters::Parameters(ParameterLayout layout, backend::ComputeDevice& device)
    : layout_(std::move(layout)),
      device_(&device),
      masters_(device.allocate(layout_.elements() * sizeof(float))),
      gradients_(device.allocate(layout_.elements() * sizeof(float))),
      momenta_(device.allocate(layout_.elements() * sizeof(float))) {
  if (layout_.has_low_precision()) {
    low_ = device.allocate(layout_.elements() * element_bytes(DType::bf16));
  }
}

std::size_t Parameters::bytes(const ParameterLayout& layout) {
  const std::size_t low = layout.has_low_precision() ? element_bytes(DType::bf16) : 0;
  return layout.elements() * (3 * sizeof(float) + low);
}

Tensor Parameters::value(const ParameterSlot& slot) const {
  const backend::TensorDesc& desc = slot.parameter.value;
  if (element_bytes(desc.dtype) == sizeof(float))
    return {desc, masters_.get() + slot.offset * sizeof(float)};
  return {desc, low_.get() + slot.offset * element_bytes(DType::bf16)};
}

Tensor Parameters::gradient(const ParameterSlot& slot) const {
  return {slot.parameter.gradient, gradients_.get() + slot.offset * sizeof(float)};
}

Tensor Parameters::master(const ParameterSlot& slot) const {
  return {slot.parameter.gradient, masters_.get() + slot.offset * sizeof(float)};
}

std::span<float> Parameters::masters() const {
  return {floats(masters_), layout_.elements()};
}

std::span<float> Parameters::gradients() const {
  return {floats(gradients_), layout_.elements()};
}

Parameters::Range Parameters::range_of(std::span<const LayerId> layers) const {
  EXPECT(!layers.empty());
  const ParameterSlot& first = layout_.of(layers.front()).front();
  const ParameterSlot& last = layout_.of(layers.back()).back();
  return {first.offset, last.offset + last.elements - first.offset};
}

std::span<float> Parameters::gradients(std::span<const LayerId> layers) const {
  const Range range = range_of(layers);
  return gradients().subspan(range.first, range.count);
}

std::span<float> Parameters::masters(std::span<const LayerId> layers) const {
  const Range range = range_of(layers);
  return masters().subspan(range.first, range.count);
}

void Parameters::initialise(std::uint64_t seed) {
  device_->clear(masters_.get(), layout_.elements() * sizeof(float));
  for (std::size_t i = 0; i < layout_.slots().size(); ++i) {
    const ParameterSlot& slot = layout_.slots()[i];
    from_plain(initial_values(slot.parameter, mix(seed, i)), master(slot));
  }
  masters_changed();
}

void Parameters::masters_changed() {
  change_masters({0, layout_.elements()});
}

void Parameters::masters_changed(std::span<const LayerId> layers) {
  change_masters(range_of(layers));
}

void Parameters::change_masters(Range range) {
  device_->clear(gradients_.get() + range.first * sizeof(float), range.count * sizeof(float));
  update({.rate = 0, .momentum = 0, .weight_decay = 0, .gradient_scale = 0}, range);
}

void Parameters::update(const backend::SgdStep& step) {
  update(step, Range{0, layout_.elements()});
}

void Parameters::update(const backend::SgdStep& step, std::span<const LayerId> layers) {
  update(step, range_of(layers));
}

/// Updates a range with its padding up to the next tensor, which is zero and stays zero. The range
/// then consists of whole vectors, so a device never runs separate code for its end, which might
/// round differently.
void Parameters::update(const backend::SgdStep& step, Range range) {
  const std::size_t count = align_up(range.count, element_alignment);
  auto* low = reinterpret_cast<std::uint16_t*>(low_.get());
  device_->update(step, count, floats(masters_) + range.first, floats(gradients_) + range.first,
                  floats(momenta_) + range.first, low == nullptr ? nullptr : low + range.first);
}

std::vector<float> Parameters::to_plain(const Tensor& tensor) const {
  std::vector<float> plain(static_cast<std::size_t>(tensor.desc.elements()));
  device_->copy(tensor, {device_->plain(tensor.desc.dims, DType::f32),
                         reinterpret_cast<std::byte*>(plain.data())});
  device_->synchronize();
  return plain;
}

void Parameters::from_plain(std::span<const float> plain, const Tensor& tensor) const {
  EXPECT(plain.size() == static_cast<std::size_t>(tensor.desc.elements()));
  // A tensor is a view for reading and writing; copy() only reads its source.
  auto* data = reinterpret_cast<std::byte*>(const_cast<float*>(plain.data()));
  device_->copy({device_->plain(tensor.desc.dims, DType::f32), data}, tensor);
  device_->synchronize();
}

}  // namespace dlscale::train
