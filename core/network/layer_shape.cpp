#include "core/network/layer_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

constexpr int largest_dimension = 1 << 20;
/// Keeps all counts of elements, parameters and operations far below the limit of 64 bits.
constexpr double largest_layer_size = 1e15;

std::string shape_text(ImageShape shape) {
  return fmt::format("{} × {} × {}", shape.channels, shape.height, shape.width);
}

/// One spatial dimension along which a window slides.
struct Slide {
  int in;
  int kernel;
  int stride;
  int pad;
  [[nodiscard]] int room() const { return in + 2 * pad - kernel; }
};

int floor_positions(const Slide& slide) {
  return slide.room() / slide.stride + 1;
}

int ceil_positions(const Slide& slide) {
  const int positions = (slide.room() + slide.stride - 1) / slide.stride + 1;
  const bool last_is_outside = (positions - 1) * slide.stride >= slide.in + slide.pad;
  return last_is_outside ? positions - 1 : positions;
}

/// The largest count derived from a layer, in floating point, which cannot overflow.
double rough_size(const Layer& layer) {
  const auto size = [](ImageShape shape) {
    return static_cast<double>(shape.channels) * shape.height * shape.width;
  };
  double per_output = 1;
  if (const auto* convolution = std::get_if<Convolution>(&layer.kind)) {
    per_output = static_cast<double>(layer.input_shapes.front().channels) * convolution->kernel_h *
                 convolution->kernel_w;
  } else if (std::holds_alternative<FullyConnected>(layer.kind)) {
    per_output = size(layer.input_shapes.front());
  }
  return per_output * size(layer.output);
}

/// Infers the output of one layer, kind by kind.
class ShapeRule {
 public:
  ShapeRule(std::string_view network, const Layer& layer) : network_(network), layer_(layer) {}

  ImageShape operator()(Input& /*kind*/) const {
    refuse("is a second input", "A network has one input.");
  }

  ImageShape operator()(Convolution& kind) const {
    const ImageShape in = only_input();
    require_count("out_channels", kind.out_channels);
    require_count("groups", kind.groups);
    check_window(kind.kernel_h, kind.kernel_w, kind.stride, kind.pad);
    if (in.channels % kind.groups != 0 || kind.out_channels % kind.groups != 0) {
      refuse(fmt::format("cuts {} input and {} output channels into {} groups", in.channels,
                         kind.out_channels, kind.groups),
             "Both must be multiples of groups.");
    }
    check_fit(in, kind.kernel_h, kind.kernel_w, kind.pad);
    return {kind.out_channels, floor_positions({in.height, kind.kernel_h, kind.stride, kind.pad}),
            floor_positions({in.width, kind.kernel_w, kind.stride, kind.pad})};
  }

  ImageShape operator()(Pooling& kind) const {
    const ImageShape in = only_input();
    if (kind.kernel_h == 0 && kind.kernel_w == 0) {
      kind.kernel_h = in.height;
      kind.kernel_w = in.width;
    }
    check_window(kind.kernel_h, kind.kernel_w, kind.stride, kind.pad);
    if (kind.pad >= std::min(kind.kernel_h, kind.kernel_w)) {
      refuse(fmt::format("has pad {} and kernel {} × {}", kind.pad, kind.kernel_h, kind.kernel_w),
             "Pad must be smaller than the kernel, or a window holds no element.");
    }
    check_fit(in, kind.kernel_h, kind.kernel_w, kind.pad);
    const auto positions = kind.ceil_mode ? ceil_positions : floor_positions;
    return {in.channels, positions({in.height, kind.kernel_h, kind.stride, kind.pad}),
            positions({in.width, kind.kernel_w, kind.stride, kind.pad})};
  }

  ImageShape operator()(Relu& /*kind*/) const { return only_input(); }

  ImageShape operator()(Lrn& kind) const {
    if (kind.size < 1 || kind.size % 2 == 0) {
      refuse(fmt::format("has size {}", kind.size), "Write an odd number of channels, such as 5.");
    }
    require("alpha", kind.alpha, kind.alpha >= 0, "a number ≥ 0");
    require("beta", kind.beta, kind.beta >= 0, "a number ≥ 0");
    require("k", kind.k, kind.k > 0, "a number > 0");
    return only_input();
  }

  ImageShape operator()(BatchNorm& kind) const {
    require("epsilon", kind.epsilon, kind.epsilon > 0, "a number > 0");
    return only_input();
  }

  ImageShape operator()(FullyConnected& kind) const {
    require_count("outputs", kind.outputs);
    (void)only_input();
    return {kind.outputs, 1, 1};
  }

  ImageShape operator()(Dropout& kind) const {
    require("probability", kind.probability, kind.probability >= 0 && kind.probability < 1,
            "a number from 0 to below 1");
    return only_input();
  }

  ImageShape operator()(Concat& /*kind*/) const {
    require_several();
    ImageShape out = layer_.input_shapes.front();
    std::int64_t channels = 0;
    for (const ImageShape& in : layer_.input_shapes) {
      channels += in.channels;
      if (in.height != out.height || in.width != out.width)
        refuse_shapes(out, in, "height and width");
    }
    if (channels > largest_dimension) refuse("has too many channels", "Concatenate less.");
    out.channels = static_cast<int>(channels);
    return out;
  }

  ImageShape operator()(Sum& /*kind*/) const {
    require_several();
    const ImageShape out = layer_.input_shapes.front();
    for (const ImageShape& in : layer_.input_shapes) {
      if (in != out) refuse_shapes(out, in, "shape");
    }
    return out;
  }

  ImageShape operator()(SoftmaxCrossEntropy& kind) const {
    const ImageShape in = only_input();
    require("loss_weight", kind.loss_weight, kind.loss_weight > 0, "a number > 0");
    if (in.height != 1 || in.width != 1) {
      refuse(fmt::format("reads {} but takes one number a class", shape_text(in)),
             "Put a fully_connected layer before it.");
    }
    return {1, 1, 1};
  }

 private:
  [[noreturn]] void refuse(std::string_view problem, std::string_view advice) const {
    refuse_layer(network_, layer_, problem, advice);
  }

  [[noreturn]] void refuse_shapes(ImageShape a, ImageShape b, std::string_view what) const {
    refuse(fmt::format("joins {} and {}, which differ in {}", shape_text(a), shape_text(b), what),
           fmt::format("{} needs inputs of the same {}.", kind_name(layer_.kind), what));
  }

  [[nodiscard]] ImageShape only_input() const {
    if (layer_.input_shapes.size() == 1) return layer_.input_shapes.front();
    refuse(fmt::format("reads {} layers", layer_.input_shapes.size()),
           fmt::format("{} reads one.", kind_name(layer_.kind)));
  }

  void require_several() const {
    if (layer_.input_shapes.size() >= 2) return;
    refuse(fmt::format("reads {} layer(s)", layer_.input_shapes.size()),
           fmt::format("{} reads at least two.", kind_name(layer_.kind)));
  }

  void require(std::string_view field, double value, bool is_allowed,
               std::string_view allowed) const {
    if (is_allowed && std::isfinite(value)) return;
    refuse(fmt::format("has {} {}", field, value), fmt::format("Write {}.", allowed));
  }

  void require_count(std::string_view field, int value) const {
    require(field, value, value >= 1 && value <= largest_dimension,
            fmt::format("a number from 1 to {}", largest_dimension));
  }

  void check_window(int kernel_h, int kernel_w, int stride, int pad) const {
    require_count("kernel height", kernel_h);
    require_count("kernel width", kernel_w);
    require_count("stride", stride);
    require("pad", pad, pad >= 0 && pad <= largest_dimension, "a number ≥ 0");
  }

  void check_fit(ImageShape in, int kernel_h, int kernel_w, int pad) const {
    if (in.height + 2 * pad >= kernel_h && in.width + 2 * pad >= kernel_w) return;
    refuse(fmt::format("has a {} × {} kernel, larger than its input {} with pad {}", kernel_h,
                       kernel_w, shape_text(in), pad),
           "Use a smaller kernel or more pad.");
  }

  std::string_view network_;
  const Layer& layer_;
};

}  // namespace

void refuse_layer(std::string_view network, const Layer& layer, std::string_view problem,
                  std::string_view advice) {
  throw ConfigError(fmt::format("{}: layer \"{}\" {}. {}", network, layer.name, problem, advice));
}

void check_input_shape(std::string_view network, ImageShape input) {
  for (const int dimension : {input.channels, input.height, input.width}) {
    if (dimension >= 1 && dimension <= largest_dimension) continue;
    throw ConfigError(
        fmt::format("{}: the input is {}. Write channels, height and width from 1 to {}.", network,
                    shape_text(input), largest_dimension));
  }
}

void infer_shape(std::string_view network, Layer& layer) {
  layer.output = std::visit(ShapeRule(network, layer), layer.kind);
  if (rough_size(layer) <= largest_layer_size) return;
  refuse_layer(network, layer,
               fmt::format("is absurdly large: its output is {}", shape_text(layer.output)),
               "Check its numbers.");
}

}  // namespace dlscale
