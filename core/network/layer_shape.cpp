#include "core/network/layer_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>

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
  int dilation = 1;
  /// Pixels from the first to the last tap of the window.
  [[nodiscard]] std::int64_t reach() const { return std::int64_t{dilation} * (kernel - 1) + 1; }
  [[nodiscard]] bool fits() const { return std::int64_t{in} + 2 * std::int64_t{pad} >= reach(); }
  [[nodiscard]] int room() const { return static_cast<int>(in + 2 * pad - reach()); }
};

int floor_positions(const Slide& slide) {
  return slide.room() / slide.stride + 1;
}

int ceil_positions(const Slide& slide) {
  const int positions = (slide.room() + slide.stride - 1) / slide.stride + 1;
  const bool last_is_outside = (positions - 1) * slide.stride >= slide.in + slide.pad;
  return last_is_outside ? positions - 1 : positions;
}

double rough_elements(ImageShape shape) {
  return static_cast<double>(shape.channels) * shape.height * shape.width;
}

/// A bound of the products of each output, for kinds that read their first input whole channels or
/// keys at a time; 0 for other kinds.
struct TermsPerOutput {
  const Layer& layer;
  [[nodiscard]] double channels() const { return layer.input_shapes.front().channels; }

  template <class Kind>
  double operator()(const Kind& /*kind*/) const {
    return 0;
  }
  double operator()(const Linear& /*kind*/) const { return channels(); }
  /// C / heads products an output, and C² weights in all.
  double operator()(const RelativeScores& kind) const {
    return channels() / kind.heads + channels() * channels() / rough_elements(layer.output);
  }
  double operator()(const AttentionScores& /*kind*/) const { return channels(); }
  double operator()(const AttentionContext& /*kind*/) const {
    return layer.input_shapes.front().width;
  }
  double operator()(const ExpertLinear& /*kind*/) const {
    return channels() * layer.input_shapes.back().channels;
  }
  double operator()(const TransposedConvolution& kind) const {
    return channels() * kind.kernel * kind.kernel;
  }
  double operator()(const Embedding& kind) const { return kind.rows; }
  double operator()(const PositionEmbedding& kind) const { return kind.rows; }
};

/// The largest count derived from a layer, in floating point, which cannot overflow.
double rough_size(const Layer& layer) {
  double per_output = 1;
  if (const auto* convolution = std::get_if<Convolution>(&layer.kind)) {
    per_output = static_cast<double>(layer.input_shapes.front().channels) * convolution->kernel_h *
                 convolution->kernel_w;
  } else if (std::holds_alternative<FullyConnected>(layer.kind)) {
    per_output = rough_elements(layer.input_shapes.front());
  } else {
    per_output = std::max(1.0, std::visit(TermsPerOutput{layer}, layer.kind));
  }
  return per_output * rough_elements(layer.output);
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
    check_window(kind.kernel_h, kind.kernel_w, kind.stride_along_width(), kind.pad_along_width());
    require_count("dilation", kind.dilation);
    if (in.channels % kind.groups != 0 || kind.out_channels % kind.groups != 0) {
      refuse(fmt::format("cuts {} input and {} output channels into {} groups", in.channels,
                         kind.out_channels, kind.groups),
             "Both must be multiples of groups.");
    }
    const Slide down{in.height, kind.kernel_h, kind.stride, kind.pad, kind.dilation};
    const Slide across{in.width, kind.kernel_w, kind.stride_along_width(), kind.pad_along_width(),
                       kind.dilation};
    check_fit(in, down, across);
    return {kind.out_channels, floor_positions(down), floor_positions(across)};
  }

  ImageShape operator()(TransposedConvolution& kind) const {
    const ImageShape in = only_input();
    require_count("out_channels", kind.out_channels);
    require_count("kernel", kind.kernel);
    require_count("stride", kind.stride);
    const auto along = [&](int pixels) {
      return require_dimension((std::int64_t{pixels} - 1) * kind.stride + kind.kernel);
    };
    return {kind.out_channels, along(in.height), along(in.width)};
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
    const Slide down{in.height, kind.kernel_h, kind.stride, kind.pad};
    const Slide across{in.width, kind.kernel_w, kind.stride, kind.pad};
    check_fit(in, down, across);
    const auto positions = kind.ceil_mode ? ceil_positions : floor_positions;
    return {in.channels, positions(down), positions(across)};
  }

  ImageShape operator()(Relu& /*kind*/) const { return only_input(); }
  ImageShape operator()(Activation& /*kind*/) const { return only_input(); }

  ImageShape operator()(Scale& /*kind*/) const {
    const auto [in, factors] = two_inputs("the layer to scale, then the factors");
    if (factors != ImageShape{in.channels, 1, 1}) {
      refuse(fmt::format("scales {} by {}", shape_text(in), shape_text(factors)),
             "The factors are one number a channel, channels × 1 × 1.");
    }
    return in;
  }

  ImageShape operator()(SiluMultiply& /*kind*/) const {
    const auto [gate, values] = two_inputs("the gate, then the values");
    if (gate != values) refuse_shapes(gate, values, "shape");
    return gate;
  }

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

  ImageShape operator()(LayerNorm& /*kind*/) const { return only_input(); }
  ImageShape operator()(RmsNorm& /*kind*/) const { return only_input(); }

  ImageShape operator()(Linear& kind) const {
    require_count("outputs", kind.outputs);
    const ImageShape in = only_input();
    return {kind.outputs, in.height, in.width};
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

  ImageShape operator()(Embedding& kind) const {
    require_count("rows", kind.rows);
    require_count("outputs", kind.outputs);
    return {kind.outputs, tokens(), 1};
  }

  ImageShape operator()(PositionEmbedding& kind) const {
    require_count("rows", kind.rows);
    require_count("outputs", kind.outputs);
    const int places = tokens();
    if (places > kind.rows) {
      refuse(fmt::format("has {} rows but reads {} tokens", kind.rows, places),
             "Ask for a shorter sequence, or write more rows.");
    }
    return {kind.outputs, places, 1};
  }

  ImageShape operator()(RelativePositions& kind) const {
    require_count("buckets", kind.buckets);
    require_count("heads", kind.heads);
    const int places = tokens();
    return {kind.heads, places, places};
  }

  ImageShape operator()(AttentionMemory& kind) const {
    require_count("tokens", kind.tokens);
    const ImageShape in = sequence();
    return {in.channels, require_dimension(std::int64_t{in.height} + kind.tokens), 1};
  }

  ImageShape operator()(RelativeScores& kind) const {
    require_count("heads", kind.heads);
    const auto [queries, keys] = two_inputs("queries, then the tokens whose places count");
    require_sequence(queries);
    require_sequence(keys);
    if (queries.channels % kind.heads != 0) {
      refuse(fmt::format("cuts queries of {} features into {} heads", queries.channels, kind.heads),
             "The features must be a multiple of heads.");
    }
    return {kind.heads, queries.height, keys.height};
  }

  ImageShape operator()(ToTokens& kind) const {
    const ImageShape in = only_input();
    const std::int64_t tokens = std::int64_t{in.height} * in.width + (kind.class_token ? 1 : 0);
    return {in.channels, require_dimension(tokens), 1};
  }

  ImageShape operator()(FirstToken& /*kind*/) const { return {sequence().channels, 1, 1}; }
  ImageShape operator()(Rope& /*kind*/) const { return sequence(); }

  ImageShape operator()(AttentionScores& kind) const {
    require_count("heads", kind.heads);
    require_count("kv_heads", kind.kv_heads);
    const auto [queries, keys] = two_inputs("queries, then keys");
    require_sequence(queries);
    require_sequence(keys);
    require_groups(kind.heads, kind.kv_heads);
    const std::int64_t expected = std::int64_t{queries.channels} / kind.heads * kind.kv_heads;
    if (queries.channels % kind.heads != 0 || keys.channels != expected) {
      refuse(fmt::format("cuts queries of {} features into {} heads, and keys of {} into {}",
                         queries.channels, kind.heads, keys.channels, kind.kv_heads),
             "Heads of queries and keys need equally many features.");
    }
    return {kind.heads, queries.height, keys.height};
  }

  ImageShape operator()(AttentionSoftmax& /*kind*/) const {
    if (layer_.input_shapes.size() == 1) return only_input();
    const auto [scores, bias] = two_inputs("scores, then what is added to them");
    if (scores != bias) refuse_shapes(scores, bias, "shape");
    return scores;
  }

  ImageShape operator()(AttentionContext& kind) const {
    require_count("kv_heads", kind.kv_heads);
    const auto [weights, values] = two_inputs("the softmax of scores, then values");
    require_sequence(values);
    require_groups(weights.channels, kind.kv_heads);
    if (values.channels % kind.kv_heads != 0 || values.height != weights.width) {
      refuse(fmt::format("reads weights {} and values {}, of {} kv_heads", shape_text(weights),
                         shape_text(values), kind.kv_heads),
             "Values need a row for each key, and features that are a multiple of kv_heads.");
    }
    const std::int64_t features = std::int64_t{values.channels} / kind.kv_heads * weights.channels;
    return {require_dimension(features), weights.height, 1};
  }

  ImageShape operator()(Route& /*kind*/) const { return sequence(); }

  ImageShape operator()(ExpertLinear& kind) const {
    require_count("outputs", kind.outputs);
    const auto [in, route] = two_inputs("tokens, then their route");
    require("active", kind.active, kind.active >= 1 && kind.active <= route.channels,
            fmt::format("a number from 1 to {}, the experts of its route", route.channels));
    const std::int64_t rows = std::int64_t{kind.active} * route.height;
    if (in.height == route.height) return {kind.outputs, require_dimension(rows), 1};
    if (in.height == rows) return {kind.outputs, route.height, 1};
    refuse(fmt::format("reads {} rows, routed as {} tokens to {} experts each", in.height,
                       route.height, kind.active),
           "It reads the tokens, or a row for each token and expert.");
  }

  ImageShape operator()(TokenCrossEntropy& /*kind*/) const {
    (void)only_input();
    return {1, 1, 1};
  }

  ImageShape operator()(SoftmaxCrossEntropy& kind) const {
    const ImageShape in = only_input();
    require("loss_weight", kind.loss_weight, kind.loss_weight > 0, "a number > 0");
    if (in.height != 1 || in.width != 1) {
      refuse(fmt::format("reads {} but takes one number a class", shape_text(in)),
             "Put a fully_connected layer before it, or end in a token_cross_entropy.");
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
    if (value >= 1 && value <= largest_dimension) return;  // formats no advice
    require(field, value, value >= 1 && value <= largest_dimension,
            fmt::format("a number from 1 to {}", largest_dimension));
  }

  void check_window(int kernel_h, int kernel_w, int stride, int pad) const {
    require_count("kernel height", kernel_h);
    require_count("kernel width", kernel_w);
    require_count("stride", stride);
    require("pad", pad, pad >= 0 && pad <= largest_dimension, "a number ≥ 0");
  }

  void check_fit(ImageShape in, const Slide& down, const Slide& across) const {
    if (down.fits() && across.fits()) return;
    const std::string pad = down.pad == across.pad ? fmt::format("{}", down.pad)
                                                   : fmt::format("{} × {}", down.pad, across.pad);
    refuse(fmt::format("has a {} × {} kernel, larger than its input {} with pad {}", down.reach(),
                       across.reach(), shape_text(in), pad),
           "Use a smaller kernel or more pad.");
  }

  [[nodiscard]] std::pair<ImageShape, ImageShape> two_inputs(std::string_view order) const {
    if (layer_.input_shapes.size() == 2) return {layer_.input_shapes[0], layer_.input_shapes[1]};
    refuse(fmt::format("reads {} layer(s)", layer_.input_shapes.size()),
           fmt::format("{} reads two: {}.", kind_name(layer_.kind), order));
  }

  void require_sequence(ImageShape in) const {
    if (in.width == 1) return;
    refuse(fmt::format("reads {}, not a sequence", shape_text(in)),
           fmt::format("{} reads features × tokens × 1.", kind_name(layer_.kind)));
  }

  /// The only input, a sequence.
  [[nodiscard]] ImageShape sequence() const {
    const ImageShape in = only_input();
    require_sequence(in);
    return in;
  }

  /// The number of tokens of the only input, which has no features yet.
  [[nodiscard]] int tokens() const {
    const ImageShape in = sequence();
    if (in.channels == 1) return in.height;
    refuse(fmt::format("reads {}", shape_text(in)),
           fmt::format("{} reads the tokens: from: input.", kind_name(layer_.kind)));
  }

  void require_groups(int heads, int kv_heads) const {
    if (heads % kv_heads == 0) return;
    refuse(fmt::format("shares {} kv_heads among {} heads", kv_heads, heads),
           "Write kv_heads that divide the heads.");
  }

  [[nodiscard]] int require_dimension(std::int64_t size) const {
    if (size <= largest_dimension) return static_cast<int>(size);
    refuse(fmt::format("has an output of {} along one side", size),
           fmt::format("Write sizes that give at most {}.", largest_dimension));
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
