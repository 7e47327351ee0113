#include "train/engine/program_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/error.hpp"

namespace dlscale::train {
namespace {

using backend::Operation;
using backend::OperationSpec;
using backend::TensorDesc;

constexpr std::size_t memory_alignment = 64;

/// Operations with their specs and outputs.
struct Compiled {
  std::vector<OperationSpec> specs;
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<TensorDesc> outputs;
};

std::unique_ptr<Operation> create(backend::ComputeDevice& device, const OperationSpec& spec) {
  try {
    return device.create(spec);
  } catch (const Unsupported& error) {
    throw Unsupported(fmt::format("layer {} ({}, {}) cannot run on {}: {}", spec.layer.name,
                                  kind_name(spec.layer.kind), dtype_name(spec.dtype), device.name(),
                                  error.what()));
  }
}

/// Layout of a network's input: plain, unless the device keeps activations only in another order.
/// Then one copy converts the images, instead of the layers in each of their passes.
TensorDesc entering(const backend::ComputeDevice& device, const std::array<std::int64_t, 4>& dims,
                    DType dtype) {
  try {
    return device.arranged(dims, dtype, backend::LayoutKind::nchw);
  } catch (const Unsupported&) {
    return device.arranged(dims, dtype, backend::LayoutKind::nhwc);
  }
}

Compiled compile(const Network& network, backend::ComputeDevice& device, int batch, DType dtype) {
  Compiled compiled;
  for (const Layer& layer : network.layers()) {
    OperationSpec spec{.layer = layer, .batch = batch, .dtype = dtype, .inputs = {}};
    for (const LayerId input : layer.inputs) {
      spec.inputs.push_back(compiled.outputs[input.index()]);
    }
    const ImageShape shape = layer.output;
    const bool images = std::holds_alternative<Input>(layer.kind);
    compiled.operations.push_back(images ? nullptr : create(device, spec));
    compiled.outputs.push_back(
        images ? entering(device, {batch, shape.channels, shape.height, shape.width}, dtype)
               : compiled.operations.back()->output());
    compiled.specs.push_back(std::move(spec));
  }
  return compiled;
}

template <class Count>
Packed pack(std::size_t pieces, const Count& bytes_of) {
  Packed packed;
  for (std::size_t i = 0; i < pieces; ++i) {
    packed.offsets.push_back(packed.bytes);
    packed.bytes += align_up(bytes_of(i), memory_alignment);
  }
  return packed;
}

std::size_t most_scratch(std::span<const std::unique_ptr<Operation>> operations) {
  std::size_t most = 0;
  for (const auto& operation : operations) {
    if (operation) most = std::max(most, operation->scratch_bytes());
  }
  return most;
}

}  // namespace

std::size_t ProgramPlan::bytes() const {
  return activations.bytes + states.bytes + gradients.bytes + scratch +
         Parameters::bytes(parameters);
}

bool is_trainable(const Network& network) {
  return std::ranges::all_of(network.layers(),
                             [](const Layer& layer) { return is_offered(layer.kind); });
}

void check_trainable(const Network& network) {
  const auto& layers = network.layers();
  const auto refused =
      std::ranges::find_if(layers, [](const Layer& layer) { return !is_offered(layer.kind); });
  if (refused == layers.end()) return;
  const bool convolution = std::holds_alternative<Convolution>(refused->kind);
  throw ConfigError(fmt::format(
      "{}: layer \"{}\" is of the kind {}{}, which dlscale predicts but does not compute. Choose "
      "another network, such as resnet50, or a prediction.",
      network.name(), refused->name, kind_name(refused->kind),
      convolution ? " with two strides, two pads or a dilation" : ""));
}

ProgramPlan make_plan(const Network& network, backend::ComputeDevice& device, int batch,
                      DType dtype) {
  EXPECT(batch >= 1);
  auto compiled = compile(network, device, batch, dtype);
  auto& operations = compiled.operations;
  auto& outputs = compiled.outputs;
  auto backward = backward_steps(network);
  GradientFlow flow = plan_gradient_flow(network, outputs, backward);
  ParameterLayout parameters(network, operations);
  const auto state_bytes = [&](std::size_t i) {
    return operations[i] ? operations[i]->state_bytes() : 0;
  };
  const auto output_bytes = [&](std::size_t i) { return outputs[i].layout.bytes; };
  Packed activations = pack(outputs.size(), output_bytes);
  Packed states = pack(operations.size(), state_bytes);
  Placement gradients = place(flow.live, memory_alignment);
  const std::size_t scratch = most_scratch(operations);
  return {.forward = forward_steps(network),
          .backward = std::move(backward),
          .specs = std::move(compiled.specs),
          .operations = std::move(operations),
          .outputs = std::move(outputs),
          .flow = std::move(flow),
          .parameters = std::move(parameters),
          .activations = std::move(activations),
          .states = std::move(states),
          .gradients = std::move(gradients),
          .scratch = scratch};
}

}  // namespace dlscale::train
