#include "backend/compute/specification.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"

namespace dlscale::backend {

void check_specification(const OperationSpec& spec) {
  EXPECT(spec.batch >= 1);
  EXPECT(!spec.inputs.empty() && spec.inputs.size() == spec.layer.input_shapes.size());
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const auto& [channels, height, width] = spec.layer.input_shapes[i];
    EXPECT((spec.inputs[i].dims == Dims{spec.batch, channels, height, width}));
    EXPECT(spec.inputs[i].dtype == spec.dtype);
  }
  if (!is_offered(spec.layer.kind)) refuse_kind(spec);
  const auto* lrn = std::get_if<Lrn>(&spec.layer.kind);
  if (lrn != nullptr && lrn->size % 2 == 0) {
    throw Unsupported(
        fmt::format("{}: size is {}, so the window has no middle channel. "
                    "Choose an odd size.",
                    describe(spec), lrn->size));
  }
}

void refuse_kind(const OperationSpec& spec) {
  const bool convolution = std::holds_alternative<Convolution>(spec.layer.kind);
  throw Unsupported(fmt::format(
      "{}: no backend computes {}. Predict the network instead, or choose one without it.",
      describe(spec),
      convolution ? "convolutions with two strides, two pads or a dilation"
                  : fmt::format("{} layers", kind_name(spec.layer.kind))));
}

std::string_view layout_kind_name(LayoutKind kind) {
  switch (kind) {
    case LayoutKind::nchw:
      return "nchw";
    case LayoutKind::nhwc:
      return "nhwc";
    case LayoutKind::blocked:
      return "blocked";
  }
  fail_expectation("a known LayoutKind");
}

OperationSpec laid_out(const ComputeDevice& device, OperationSpec spec, LayoutKind kind) {
  for (TensorDesc& input : spec.inputs) input = device.arranged(input.dims, input.dtype, kind);
  spec.layout = kind;
  return spec;
}

void expect_laid_out(const ComputeDevice& device, const OperationSpec& spec,
                     const Operation& operation, Pass pass) {
  EXPECT(spec.layout.has_value());
  const std::string_view kind = layout_kind_name(*spec.layout);
  const TensorDesc& output = operation.output();
  if (output.layout != device.arranged(output.dims, output.dtype, *spec.layout).layout) {
    throw Unsupported(fmt::format("{}: {} leaves its output as {} where its input is {}",
                                  describe(spec), device.name(), output.layout.name, kind));
  }
  if (operation.reorders_activations(pass)) {
    throw Unsupported(fmt::format("{}: {} does not compute {} in {} but on reordered copies ({})",
                                  describe(spec), device.name(), pass_name(pass), kind,
                                  operation.implementation(pass)));
  }
}

std::size_t input_gradient_count(const Layer& layer) {
  return std::holds_alternative<Sum>(layer.kind) ? 1 : layer.input_shapes.size();
}

Dims output_dims(const OperationSpec& spec) {
  const auto& [channels, height, width] = spec.layer.output;
  return {spec.batch, channels, height, width};
}

Dims weight_dims(const OperationSpec& spec) {
  const auto& [channels, height, width] = spec.layer.input_shapes.front();
  if (const auto* convolution = std::get_if<Convolution>(&spec.layer.kind)) {
    return {convolution->out_channels, channels / convolution->groups, convolution->kernel_h,
            convolution->kernel_w};
  }
  return {std::get<FullyConnected>(spec.layer.kind).outputs, channels, height, width};
}

Dims vector_dims(std::int64_t elements) {
  return {elements, 1, 1, 1};
}

std::string describe(const OperationSpec& spec) {
  return fmt::format("layer {} ({} of {} to {}, {})", spec.layer.name, kind_name(spec.layer.kind),
                     fmt::join(spec.inputs.front().dims, " x "),
                     fmt::join(output_dims(spec), " x "), dtype_name(spec.dtype));
}

}  // namespace dlscale::backend
