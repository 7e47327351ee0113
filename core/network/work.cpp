#include <algorithm>
#include <variant>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale {
namespace {

constexpr double f32_bytes = 4;  // master gradients, biases, statistics

/// Counts for one mini-batch. Elements are those of the whole batch; `e` is the size of one.
struct Counts {
  double in = 0;
  double out = 0;
  double weights = 0;
  double biases = 0;
  double macs = 0;
  double images = 0;
  double e = 4;
  bool relu = false;  ///< Layer::relu
};

Counts count(const Layer& layer, int batch, DType dtype) {
  Counts counts;
  counts.images = batch;
  for (const ImageShape& input : layer.input_shapes) {
    counts.in += static_cast<double>(input.elements()) * counts.images;
  }
  counts.out = static_cast<double>(layer.output.elements()) * counts.images;
  counts.weights = static_cast<double>(layer.read_weight_count());
  counts.biases = static_cast<double>(layer.bias_count());
  counts.macs = static_cast<double>(layer.forward_macs()) * counts.images;
  counts.e = static_cast<double>(element_bytes(dtype));
  counts.relu = layer.relu;
  return counts;
}

Work make_work(double flops, double bytes) {
  return {Flops(flops), Bytes(bytes)};
}

/// Convolution and fully connected: each pass is the same product with its operands in other roles.
/// As usual, adding the bias and taking the maximum with 0 (one operation per output element each)
/// do not count. With a ReLU, backward_filter also reads the output, and writes the gradient that
/// passes it.
Work product_work(const Counts& c, Pass pass) {
  const double flops = 2 * c.macs;
  if (pass == Pass::backward_filter) {
    const double masked = c.relu ? 2 * c.e * c.out : 0;
    return make_work(flops, c.e * (c.in + c.out) + f32_bytes * (c.weights + c.biases) + masked);
  }
  const double biases = pass == Pass::forward ? f32_bytes * c.biases : 0;
  return make_work(flops, c.e * (c.in + c.weights + c.out) + biases);
}

/// Work of one step of a layer, by kind. Operations are additions, multiplications, comparisons,
/// divisions, exponentials and powers, one each.
struct KindWork {
  const Layer& layer;
  const Counts& c;
  Pass pass;

  [[nodiscard]] bool is_forward() const { return pass == Pass::forward; }

  /// Reads and writes one value per element forward; backward reads a second one.
  [[nodiscard]] Work elementwise(double forward_flops, double backward_flops) const {
    return is_forward() ? make_work(forward_flops * c.in, c.e * 2 * c.in)
                        : make_work(backward_flops * c.in, c.e * 3 * c.in);
  }

  Work operator()(const Input& /*kind*/) const { fail_expectation("the input has no step"); }
  Work operator()(const Convolution& /*kind*/) const { return product_work(c, pass); }
  Work operator()(const TransposedConvolution& /*kind*/) const { return product_work(c, pass); }
  Work operator()(const FullyConnected& /*kind*/) const { return product_work(c, pass); }
  Work operator()(const Linear& /*kind*/) const { return product_work(c, pass); }

  /// A small batch reaches as many experts as it has rows, at most.
  Work operator()(const ExpertLinear& kind) const {
    const ImageShape& route = layer.input_shapes.back();
    const double rows = c.images * route.height * kind.active;
    Counts reached = c;
    reached.weights *= std::min(1.0, rows / route.channels);
    return product_work(reached, pass);
  }

  /// Forward one product. Backward two: the gradient times each operand gives that of the other.
  [[nodiscard]] Work product_of_activations() const {
    return is_forward() ? make_work(2 * c.macs, c.e * (c.in + c.out))
                        : make_work(4 * c.macs, c.e * (2 * c.in + c.out));
  }
  Work operator()(const AttentionScores& /*kind*/) const { return product_of_activations(); }
  Work operator()(const AttentionContext& /*kind*/) const { return product_of_activations(); }

  /// Queries times the vectors of places, which a product makes once for a batch.
  Work operator()(const RelativeScores& /*kind*/) const {
    const double queries = c.images * static_cast<double>(layer.input_shapes.front().elements());
    const double width = layer.input_shapes.front().channels;
    const double vectors = width * layer.output.width;
    const double making = 2 * vectors * width;
    if (pass == Pass::backward_filter) {
      return make_work(making, c.e * 2 * vectors + f32_bytes * c.weights);
    }
    return is_forward()
               ? make_work(2 * c.macs + making, c.e * (queries + c.out + 2 * vectors + c.weights))
               : make_work(4 * c.macs, c.e * (2 * queries + c.out + 2 * vectors));
  }
  /// A copy; backward reads and writes the gradient of the sequence alone.
  Work operator()(const AttentionMemory& /*kind*/) const {
    return make_work(0, c.e * 2 * (is_forward() ? c.out : c.in));
  }

  /// Forward: scale, maximum, difference, exponential, sum, quotient; a bias adds one and is read
  /// once for all sequences. Backward: products, their sum, difference, product, scale.
  Work operator()(const AttentionSoftmax& /*kind*/) const {
    const bool biased = layer.inputs.size() > 1;
    const double bias = biased ? c.e * c.out / c.images : 0;
    return is_forward() ? make_work((biased ? 7 : 6) * c.out, c.e * 2 * c.out + bias)
                        : make_work((biased ? 6 : 5) * c.out, c.e * 3 * c.out + bias);
  }
  Work operator()(const Route& /*kind*/) const { return elementwise(5, 4); }

  /// One operation per element of each window (comparison or addition); the division of an average
  /// replaces the addition of its first element to nothing. Backward, max adds one value per
  /// output; average scales it and adds it to each element of its window. Max keeps at least one
  /// byte per output for its position in the window.
  Work operator()(const Pooling& kind) const {
    const double window = static_cast<double>(kind.kernel_h) * kind.kernel_w;
    const bool is_max = kind.kind == PoolingKind::max;
    const double bytes = c.e * (c.in + c.out) + (is_max ? c.out : 0);
    if (is_forward()) return make_work(window * c.out, bytes);
    return make_work((is_max ? 1 : window + 1) * c.out, bytes);
  }

  Work operator()(const Relu& /*kind*/) const { return elementwise(1, 1); }

  /// Sigmoid: negative, exponential, sum, quotient; backward from the output. GELU: scale, error
  /// function, sum, half, product; backward its density too. SiLU: sigmoid and product.
  Work operator()(const Activation& kind) const {
    switch (kind.function) {
      case ActivationFunction::sigmoid:
        return elementwise(4, 3);
      case ActivationFunction::gelu:
        return elementwise(5, 10);
      case ActivationFunction::silu:
        return elementwise(5, 9);
    }
    fail_expectation("function is an ActivationFunction");
  }

  /// Reads both inputs. Backward reads them again, and writes a gradient for each.
  [[nodiscard]] Work of_two(double forward_flops, double backward_flops) const {
    return is_forward() ? make_work(forward_flops * c.out, c.e * (c.in + c.out))
                        : make_work(backward_flops * c.out, c.e * (2 * c.in + c.out));
  }
  Work operator()(const Scale& /*kind*/) const { return of_two(1, 3); }
  Work operator()(const SiluMultiply& /*kind*/) const { return of_two(6, 11); }

  /// Two products and a sum for each number; backward turns the other way.
  Work operator()(const Rope& /*kind*/) const { return make_work(3 * c.in, c.e * 2 * c.in); }

  /// Reads the rows once for all images; backward sums their gradients.
  Work operator()(const ToTokens& kind) const {
    const double added = kind.positions ? c.out : 0;
    if (pass == Pass::backward_filter) {
      const double gradients = c.weights * c.images;
      return make_work(gradients, c.e * gradients + f32_bytes * c.weights);
    }
    const double rows = is_forward() ? f32_bytes * c.weights : 0;
    return make_work(is_forward() ? added : 0, c.e * (c.in + c.out) + rows);
  }

  /// Backward also writes the zeros of the other tokens.
  Work operator()(const FirstToken& /*kind*/) const {
    return make_work(0, c.e * (is_forward() ? 2 * c.out : c.in + c.out));
  }

  /// Copies a row for each token. Backward adds the rows' gradients to those of the whole table,
  /// which it writes once.
  Work operator()(const Embedding& /*kind*/) const {
    constexpr double token_bytes = 4;
    const double tokens = token_bytes * c.in;
    return is_forward() ? make_work(0, c.e * 2 * c.out + tokens)
                        : make_work(c.out, c.e * c.out + f32_bytes * c.weights + tokens);
  }

  /// Reads the rows once for all sequences; backward sums their gradients.
  Work operator()(const PositionEmbedding& /*kind*/) const {
    const double rows = c.out / c.images;
    return is_forward() ? make_work(0, c.e * (rows + c.out))
                        : make_work(c.out, c.e * c.out + f32_bytes * c.weights);
  }

  /// Computes and writes the biases once for all sequences.
  Work operator()(const RelativePositions& /*kind*/) const {
    const double biases = c.out / c.images;
    return is_forward() ? make_work(0, c.e * biases + f32_bytes * c.weights)
                        : make_work(biases, c.e * biases + f32_bytes * c.weights);
  }

  /// Forward: square, size - 1 additions, times alpha/size, plus k, power, product: size + 4.
  /// Backward: the sum again (size + 2), dy · s^-beta (2), times x over s (2), size - 1 additions,
  /// times constant and x (2), minus (1): 2 size + 6.
  Work operator()(const Lrn& kind) const {
    return elementwise(kind.size + 4.0, 2.0 * kind.size + 6);
  }

  /// Forward: mean 1, squared deviation 3, scale and shift 2. Backward: shift 1, scale 3, input 4.
  /// Scale and shift are read; backward also writes their gradients. Batch statistics are per
  /// channel and do not count. A ReLU compares once in each direction; backward derives from the
  /// input which values passed it.
  Work operator()(const BatchNorm& /*kind*/) const {
    return c.relu ? normalisation(7, 9) : normalisation(6, 8);
  }
  [[nodiscard]] Work normalisation(double forward_flops, double backward_flops) const {
    const double parameters = f32_bytes * (c.weights + c.biases);
    const Work work = elementwise(forward_flops, backward_flops);
    return {work.flops, work.bytes + Bytes(is_forward() ? parameters : 2 * parameters)};
  }

  /// Forward: mean 1, squared deviation 3, quotient 2, scale and shift 2. Backward: gradients of
  /// shift and scale 1 + 3, of the input 8.
  Work operator()(const LayerNorm& /*kind*/) const { return normalisation(8, 12); }
  /// Forward: square and sum 2, quotient 1, scale 1. Backward: scale 3, input 5.
  Work operator()(const RmsNorm& /*kind*/) const { return normalisation(4, 8); }

  /// Draws and compares, then multiplies. The mask is not stored: backward draws it again.
  Work operator()(const Dropout& /*kind*/) const { return make_work(2 * c.in, c.e * 2 * c.in); }

  Work operator()(const Concat& /*kind*/) const { return make_work(0, c.e * 2 * c.out); }

  /// Backward passes the gradient on without a step, unless there is a ReLU. The step then does the
  /// ReLU alone, which reads output and gradient and writes one gradient for all inputs.
  Work operator()(const Sum& /*kind*/) const {
    EXPECT(is_forward() || c.relu);
    if (!is_forward()) return make_work(c.out, c.e * 3 * c.out);
    return make_work(c.in - (c.relu ? 0 : c.out), c.e * (c.in + c.out));
  }

  /// Forward per element: maximum, difference, exponential, sum; per image: logarithm, difference.
  /// It reads the scores and a label, and writes a loss, in f32. Backward per element: difference,
  /// exponential, weight; per image: minus one.
  Work operator()(const SoftmaxCrossEntropy& /*kind*/) const { return cross_entropy(c.images); }
  /// A label for each token or pixel.
  Work operator()(const TokenCrossEntropy& /*kind*/) const {
    const ImageShape& in = layer.input_shapes.front();
    return cross_entropy(c.images * in.height * in.width);
  }
  [[nodiscard]] Work cross_entropy(double labels) const {
    constexpr double label_bytes = 4;
    return is_forward()
               ? make_work(4 * c.in + 2 * labels, c.e * c.in + (label_bytes + f32_bytes) * labels)
               : make_work(3 * c.in + labels, c.e * 2 * c.in + label_bytes * labels);
  }
};

}  // namespace

Work work(const Network& network, Step step, int batch, DType dtype) {
  EXPECT(batch >= 1);
  const Layer& layer = network.layer(step.layer);
  const Counts counts = count(layer, batch, dtype);
  if (step.pass == Pass::accumulate) {  // reads one gradient per consumer, writes their sum
    const auto consumers = static_cast<double>(network.consumers(step.layer).size());
    EXPECT(consumers > 1);
    return make_work((consumers - 1) * counts.out, counts.e * (consumers + 1) * counts.out);
  }
  EXPECT(step.pass != Pass::backward_filter || counts.weights > 0);
  return std::visit(KindWork{layer, counts, step.pass}, layer.kind);
}

}  // namespace dlscale
