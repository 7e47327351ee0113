#include "model/roofline/sheet/products.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "core/base/error.hpp"

namespace dlscale::model::sheet {
namespace {

ConvolutionSizes sizes_of(const Layer& layer, const Convolution& kind) {
  const ImageShape in = layer.input_shapes.front();
  ConvolutionSizes sizes;
  sizes.c = in.channels;
  sizes.h = in.height;
  sizes.w = in.width;
  sizes.k = layer.output.channels;
  sizes.p = layer.output.height;
  sizes.q = layer.output.width;
  sizes.r = kind.kernel_h;
  sizes.s = kind.kernel_w;
  sizes.strides = static_cast<double>(kind.stride) * kind.stride_along_width();
  sizes.groups = kind.groups;
  sizes.dilated = kind.dilation > 1;
  return sizes;
}

/// Saving of minimal filtering where `in` channels become `out` of `height` × `width`.
double winograd_saving(const ConvolutionSizes& sizes, double in, double out, double height,
                       double width, const KernelConstants& constants) {
  if (sizes.r != sizes.s || sizes.strides != 1 || sizes.groups != 1 || sizes.dilated) return 0;
  const bool small = sizes.r == 3 && in >= constants.filtered_3x3;
  const bool large = sizes.r == 5 && std::min(in, out) >= constants.filtered_5x5;
  if (!small && !large) return 0;
  const double whole = 4 * std::ceil(height / 2) * std::ceil(width / 2);
  return constants.filtered_saving * height * width / whole;
}

}  // namespace

Product convolution_product(const ConvolutionSizes& sizes, Pass pass, double batch,
                            const KernelConstants& constants) {
  Product product;
  product.pass = pass;
  product.groups = sizes.groups;
  const double taps = sizes.r * sizes.s;
  const double in = batch * sizes.c * sizes.h * sizes.w;
  const double out = batch * sizes.k * sizes.p * sizes.q;
  product.activations = in + out;
  product.elements = in + out + sizes.k * sizes.c * taps / sizes.groups;
  product.stride = std::sqrt(sizes.strides);
  const double inputs = sizes.c / sizes.groups;
  const double outputs = sizes.k / sizes.groups;
  const bool few = sizes.groups > 1 && std::max(inputs, outputs) <= constants.direct_channels;
  product.kind = few ? ProductKind::direct : ProductKind::convolution;
  const double places = batch * sizes.p * sizes.q;
  if (pass == Pass::backward_filter) {
    product.m = outputs;
    product.n = taps * inputs;
    product.k = product.channels = places;
    // A block for each weight, which reads its channel's input and gradient.
    if (few && inputs == 1) product.elements = taps * (in + out) + sizes.k * taps;
    product.winograd = winograd_saving(sizes, sizes.c, sizes.k, sizes.p, sizes.q, constants);
  } else if (pass == Pass::forward) {
    product.m = places;
    product.n = outputs;
    product.k = taps * inputs;
    product.channels = inputs;
    product.winograd = winograd_saving(sizes, sizes.c, sizes.k, sizes.p, sizes.q, constants);
  } else {
    const double spread = sizes.r == 1 && sizes.s == 1 ? 1 : sizes.strides;
    product.m = places * spread;
    product.n = inputs;
    product.k = taps * outputs / spread;
    product.channels = outputs;
    product.winograd = winograd_saving(sizes, sizes.k, sizes.c, sizes.h, sizes.w, constants);
  }
  return product;
}

Product linear_product(double rows, double inputs, double outputs, Pass pass) {
  Product product;
  product.pass = pass;
  product.elements = rows * inputs + rows * outputs + inputs * outputs;
  if (pass == Pass::backward_filter) {
    product.m = outputs;
    product.n = inputs;
    product.k = rows;
  } else {
    const bool forward = pass == Pass::forward;
    product.m = rows;
    product.n = forward ? outputs : inputs;
    product.k = forward ? inputs : outputs;
  }
  product.channels = product.k;
  return product;
}

namespace {

/// The rows of a sequence or of pixels.
double rows_of(ImageShape shape, double batch) {
  return batch * shape.height * shape.width;
}

/// A transposed convolution is its convolution with data and outputs in each other's places.
Product transposed_product(const Layer& layer, const TransposedConvolution& kind, Pass pass,
                           double batch) {
  const ImageShape in = layer.input_shapes.front();
  const double taps = static_cast<double>(kind.kernel) * kind.kernel;
  const double wide = taps * kind.out_channels;
  Product product = linear_product(rows_of(in, batch), in.channels, wide, pass);
  product.kind = ProductKind::convolution;
  product.channels = pass == Pass::backward_data ? kind.out_channels : product.k;
  product.activations = batch * static_cast<double>(in.elements() + layer.output.elements());
  product.elements = product.activations + in.channels * wide;
  return product;
}

/// A token's rows for its experts, in one group an expert.
Product expert_product(const Layer& layer, const ExpertLinear& kind, Pass pass, double batch) {
  const ImageShape route = layer.input_shapes.back();
  const double rows = rows_of({1, route.height, route.width}, batch) * kind.active;
  const double experts = std::min<double>(route.channels, rows);
  Product product =
      linear_product(rows / experts, layer.input_shapes.front().channels, kind.outputs, pass);
  product.kind = ProductKind::batched;
  product.groups = experts;
  product.elements *= experts;
  return product;
}

/// `groups` products m × n × k of activations, or the two that give the gradients of both operands.
std::vector<Product> batched_products(Product forward, Pass pass) {
  forward.kind = ProductKind::batched;
  forward.pass = pass;
  forward.elements =
      forward.groups * (forward.m * forward.k + forward.k * forward.n + forward.m * forward.n);
  forward.channels = forward.k;
  if (pass == Pass::forward) return {forward};
  Product first = forward;
  std::swap(first.n, first.k);
  Product second = forward;
  second.m = forward.n;
  second.n = forward.k;
  second.k = forward.m;
  first.channels = first.k;
  second.channels = second.k;
  return {first, second};
}

/// The products of a layer by its kind, in one pass.
struct KindProducts {
  const Layer& layer;
  Pass pass;
  double batch;
  const KernelConstants& constants;

  [[nodiscard]] ImageShape in() const { return layer.input_shapes.front(); }

  std::vector<Product> operator()(const Convolution& kind) const {
    return {convolution_product(sizes_of(layer, kind), pass, batch, constants)};
  }
  std::vector<Product> operator()(const TransposedConvolution& kind) const {
    return {transposed_product(layer, kind, pass, batch)};
  }
  std::vector<Product> operator()(const FullyConnected& kind) const {
    return {linear_product(batch, static_cast<double>(in().elements()), kind.outputs, pass)};
  }
  std::vector<Product> operator()(const Linear& kind) const {
    return {linear_product(rows_of(in(), batch), in().channels, kind.outputs, pass)};
  }
  std::vector<Product> operator()(const ExpertLinear& kind) const {
    return {expert_product(layer, kind, pass, batch)};
  }
  /// heads × T × S of queries and keys.
  std::vector<Product> operator()(const AttentionScores& kind) const {
    Product scores;
    scores.groups = batch * kind.heads;
    scores.m = layer.output.height;
    scores.n = layer.output.width;
    scores.k = static_cast<double>(in().channels) / kind.heads;
    return batched_products(scores, pass);
  }
  /// heads × T × S of queries and places; and the vectors of places, once for a batch.
  std::vector<Product> operator()(const RelativeScores& kind) const {
    const double width = in().channels;
    const Product making = linear_product(layer.output.width, width, width, pass);
    if (pass == Pass::backward_filter) return {making};
    Product scores;
    scores.groups = batch * kind.heads;
    scores.m = layer.output.height;
    scores.n = layer.output.width;
    scores.k = width / kind.heads;
    std::vector<Product> products = batched_products(scores, pass);
    if (pass == Pass::forward) products.push_back(making);
    return products;
  }
  /// heads · d × T of weights and values.
  std::vector<Product> operator()(const AttentionContext& /*kind*/) const {
    Product context;
    context.groups = batch * in().channels;
    context.m = in().height;
    context.n = static_cast<double>(layer.output.channels) / in().channels;
    context.k = in().width;
    return batched_products(context, pass);
  }

  std::vector<Product> operator()(const Input& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Pooling& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Relu& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Activation& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Scale& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const SiluMultiply& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Lrn& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const BatchNorm& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const LayerNorm& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const RmsNorm& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Dropout& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Concat& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Sum& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Embedding& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const PositionEmbedding& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const RelativePositions& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const AttentionMemory& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const ToTokens& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const FirstToken& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Rope& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const AttentionSoftmax& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const Route& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const SoftmaxCrossEntropy& /*kind*/) const { return {}; }
  std::vector<Product> operator()(const TokenCrossEntropy& /*kind*/) const { return {}; }
};

}  // namespace

std::vector<Product> products_of(const Network& network, Step step, int batch,
                                 const KernelConstants& constants) {
  EXPECT(batch >= 1);
  if (step.pass == Pass::accumulate) return {};
  const Layer& layer = network.layer(step.layer);
  return std::visit(KindProducts{layer, step.pass, static_cast<double>(batch), constants},
                    layer.kind);
}

}  // namespace dlscale::model::sheet
