#include "core/network/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

template <class Kind>
bool is(const Layer& layer) {
  return std::holds_alternative<Kind>(layer.kind);
}

/// By layer: whether the gradient of its output leads to any parameter.
std::vector<bool> find_trained(const Network& network) {
  std::vector<bool> trained(network.layers().size());
  for (const Layer& layer : network.layers()) {
    trained[layer.id.index()] =
        layer.parameter_count() > 0 ||
        std::any_of(layer.inputs.begin(), layer.inputs.end(),
                    [&](LayerId input) -> bool { return trained[input.index()]; });
  }
  return trained;
}

bool returns_gradient(const Layer& layer, const std::vector<bool>& trained) {
  if (is<BatchNorm>(layer)) return true;
  const bool hands_on = is<Sum>(layer) && !layer.relu;
  return !hands_on && std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                  [&](LayerId input) -> bool { return trained[input.index()]; });
}

/// The backward pass that computes the gradients of a layer's parameters.
Pass completing_pass(const Layer& layer) {
  return is<BatchNorm>(layer) ? Pass::backward_data : Pass::backward_filter;
}

std::string shape_key(ImageShape shape) {
  return fmt::format("c{} h{} w{}", shape.channels, shape.height, shape.width);
}

/// The fields of a layer on which its kernel depends.
struct KernelKey {
  const Layer& layer;

  [[nodiscard]] std::string in() const { return shape_key(layer.input_shapes.front()); }

  std::string operator()(const Input& /*kind*/) const { return shape_key(layer.output); }
  std::string operator()(const Convolution& kind) const {
    return fmt::format("{} k{} r{} s{} stride{} pad{} groups{}{}", in(), kind.out_channels,
                       kind.kernel_h, kind.kernel_w, kind.stride, kind.pad, kind.groups,
                       kind.bias ? " bias" : "");
  }
  std::string operator()(const Pooling& kind) const {
    return fmt::format("{} r{} s{} stride{} pad{}{}", in(), kind.kernel_h, kind.kernel_w,
                       kind.stride, kind.pad, kind.ceil_mode ? " ceil" : "");
  }
  std::string operator()(const Relu& /*kind*/) const { return in(); }
  std::string operator()(const Lrn& kind) const {
    return fmt::format("{} size{} beta{}", in(), kind.size, kind.beta);
  }
  std::string operator()(const BatchNorm& /*kind*/) const { return in(); }
  std::string operator()(const FullyConnected& kind) const {
    return fmt::format("{} outputs{}{}", in(), kind.outputs, kind.bias ? " bias" : "");
  }
  std::string operator()(const Dropout& kind) const {
    return fmt::format("{} p{}", in(), kind.probability);
  }
  std::string operator()(const Concat& /*kind*/) const {
    std::vector<int> channels;
    for (const ImageShape& input : layer.input_shapes) channels.push_back(input.channels);
    return fmt::format("c{} h{} w{}", fmt::join(channels, "+"), layer.output.height,
                       layer.output.width);
  }
  std::string operator()(const Sum& /*kind*/) const {
    return fmt::format("{} inputs{}", in(), layer.inputs.size());
  }
  std::string operator()(const SoftmaxCrossEntropy& /*kind*/) const { return in(); }
};

Bucket one_layer(const Layer& layer) {
  return {{layer.id}, layer.parameter_count()};
}

/// Closes a bucket once it reaches its limit.
std::vector<Bucket> fill_buckets(const std::vector<Bucket>& layers,
                                 const ScheduleSettings& settings) {
  constexpr double gradient_bytes = 4;  // gradients are f32
  std::vector<Bucket> buckets;
  bool is_open = false;
  for (const Bucket& layer : layers) {
    if (!is_open) buckets.emplace_back();
    Bucket& bucket = buckets.back();
    bucket.layers.push_back(layer.layers.front());
    bucket.elements += layer.elements;
    const Bytes limit = buckets.size() == 1 ? settings.first_bucket : settings.bucket;
    is_open = Bytes(gradient_bytes * static_cast<double>(bucket.elements)) < limit;
  }
  return buckets;
}

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
  counts.weights = static_cast<double>(layer.weight_count());
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
  Work operator()(const FullyConnected& /*kind*/) const { return product_work(c, pass); }

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
    const double parameters = f32_bytes * (c.weights + c.biases);
    const Work work = c.relu ? elementwise(7, 9) : elementwise(6, 8);
    return {work.flops, work.bytes + Bytes(is_forward() ? parameters : 2 * parameters)};
  }

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
  Work operator()(const SoftmaxCrossEntropy& /*kind*/) const {
    constexpr double label_bytes = 4;
    return is_forward() ? make_work(4 * c.in + 2 * c.images,
                                    c.e * c.in + (label_bytes + f32_bytes) * c.images)
                        : make_work(3 * c.in + c.images, c.e * 2 * c.in + label_bytes * c.images);
  }
};

}  // namespace

std::string_view pass_name(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward_data:
      return "backward_data";
    case Pass::backward_filter:
      return "backward_filter";
    case Pass::accumulate:
      return "accumulate";
  }
  fail_expectation("pass is a Pass");
}

std::vector<Step> forward_steps(const Network& network) {
  std::vector<Step> steps;
  for (const Layer& layer : network.layers()) {
    if (!is<Input>(layer)) steps.push_back({layer.id, Pass::forward});
  }
  return steps;
}

std::vector<Step> backward_steps(const Network& network) {
  const std::vector<bool> trained = find_trained(network);
  std::vector<Step> steps;
  for (auto layer = network.layers().rbegin(); layer != network.layers().rend(); ++layer) {
    const LayerId id = layer->id;
    if (trained[id.index()] && network.consumers(id).size() > 1) {
      steps.push_back({id, Pass::accumulate});
    }
    if (is<Convolution>(*layer) || is<FullyConnected>(*layer)) {
      steps.push_back({id, Pass::backward_filter});
    }
    if (returns_gradient(*layer, trained)) steps.push_back({id, Pass::backward_data});
  }
  return steps;
}

std::string kernel_key(const Network& network, LayerId id) {
  const Layer& layer = network.layer(id);
  const std::size_t consumers = network.consumers(id).size();
  return fmt::format("{} {}{}{}", kind_name(layer.kind), std::visit(KernelKey{layer}, layer.kind),
                     layer.relu ? " relu" : "",
                     consumers > 1 ? fmt::format(" consumers{}", consumers) : "");
}

std::vector<Bucket> gradient_buckets(const Network& network, Schedule schedule,
                                     const ScheduleSettings& settings) {
  std::vector<Bucket> by_layer;
  for (auto layer = network.layers().rbegin(); layer != network.layers().rend(); ++layer) {
    if (layer->parameter_count() > 0) by_layer.push_back(one_layer(*layer));
  }
  switch (schedule) {
    case Schedule::sequential:
    case Schedule::wait_free:
    case Schedule::merged_greedy:
    case Schedule::merged:
    case Schedule::horovod:
    case Schedule::priority:
      return by_layer;
    case Schedule::bucketed:
    case Schedule::reduce_scatter_overlap:
      return fill_buckets(by_layer, settings);
  }
  fail_expectation("schedule is a Schedule");
}

std::size_t ready_after(const Network& network, std::span<const Step> steps, const Bucket& bucket) {
  std::size_t last = 0;
  for (const LayerId layer : bucket.layers) {
    const Pass completes = completing_pass(network.layer(layer));
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const Step& candidate) {
      return candidate.layer == layer && candidate.pass == completes;
    });
    EXPECT(step != steps.end());
    last = std::max(last, static_cast<std::size_t>(step - steps.begin()));
  }
  return last;
}

Work work(const Network& network, Step step, int batch, DType dtype) {
  EXPECT(batch >= 1);
  const Layer& layer = network.layer(step.layer);
  const Counts counts = count(layer, batch, dtype);
  if (step.pass == Pass::accumulate) {  // reads one gradient per consumer, writes their sum
    const auto consumers = static_cast<double>(network.consumers(step.layer).size());
    EXPECT(consumers > 1);
    return make_work((consumers - 1) * counts.out, counts.e * (consumers + 1) * counts.out);
  }
  EXPECT(step.pass != Pass::backward_filter || counts.macs > 0);
  return std::visit(KindWork{counts, step.pass}, layer.kind);
}

}  // namespace dlscale
