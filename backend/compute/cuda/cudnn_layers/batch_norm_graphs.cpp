#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_parts.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class BatchNormGraphs final : public GraphLayer {
 public:
  BatchNormGraphs(const OperationSpec& spec, const BatchNorm& kind, Order order)
      : what_(describe(spec)),
        order_(order),
        type_(data_type(spec.dtype)),
        dims_(output_dims(spec)),
        epsilon_(static_cast<float>(kind.epsilon)) {}

  [[nodiscard]] Graph graph(const Target& target, Pass pass) const override {
    expect_channels_together();
    GraphParts parts(what_, order_);
    if (pass == Pass::forward) {
      forward(parts);
    } else {
      EXPECT(pass == Pass::backward_data);
      backward(parts);
    }
    return std::move(parts).graph(target);
  }

  [[nodiscard]] std::vector<Binding> bindings(Pass pass, const Operands& operands,
                                              std::byte* state) const override {
    std::vector<Binding> bindings{{TensorId::input, operands.inputs[0].data},
                                  {TensorId::scale, operands.parameters[0].data},
                                  {TensorId::mean, state},
                                  {TensorId::inverse_deviation, state + vector_bytes()}};
    if (pass == Pass::forward) {
      bindings.push_back({TensorId::shift, operands.parameters[1].data});
      bindings.push_back({TensorId::epsilon, &epsilon_});
      bindings.push_back({TensorId::output, operands.output.data});
    } else {
      bindings.push_back({TensorId::output_gradient, operands.output_gradient.data});
      bindings.push_back({TensorId::input_gradient, operands.input_gradients[0].data});
      bindings.push_back({TensorId::scale_gradient, operands.parameter_gradients[0].data});
      bindings.push_back({TensorId::shift_gradient, operands.parameter_gradients[1].data});
    }
    return bindings;
  }

  [[nodiscard]] std::size_t state_bytes() const override { return 2 * vector_bytes(); }

  [[nodiscard]] std::vector<Parameter> parameters() const override {
    const TensorDesc desc = tensor_desc(vector_dims(channels()), DType::f32, order_);
    return {{ParameterRole::scale, desc, desc}, {ParameterRole::shift, desc, desc}};
  }

 private:
  [[nodiscard]] std::int64_t channels() const { return dims_[1]; }
  [[nodiscard]] std::size_t vector_bytes() const {
    return aligned(static_cast<std::size_t>(channels()) * sizeof(float));
  }

  /// The engines of cuDNN 9.19 accept nchw tensors, but load packs of channels whatever the
  /// strides. They reject channels, not pixels, that do not fill whole packs.
  void expect_channels_together() const {
    if (order_ == Order::nhwc) return;
    throw Unsupported(what_ +
                      ": cuDNN's engines for batch norm read nhwc tensors, and do not say so of "
                      "nchw ones. Our own kernels do it.");
  }

  /// Tensors that both passes read or write: the input, and vectors of one number per channel.
  struct Shared {
    std::size_t input;
    std::size_t scale;
    std::size_t mean;
    std::size_t inverse;  ///< inverse of the deviation
  };

  [[nodiscard]] std::size_t tensor(GraphParts& parts, TensorId id) const {
    return parts.tensor(id, dims_, type_);
  }
  [[nodiscard]] std::size_t vector(GraphParts& parts, TensorId id) const {
    return parts.channel_vector(id, channels());
  }
  [[nodiscard]] Shared shared(GraphParts& parts) const {
    return {tensor(parts, TensorId::input), vector(parts, TensorId::scale),
            vector(parts, TensorId::mean), vector(parts, TensorId::inverse_deviation)};
  }

  void forward(GraphParts& parts) const {
    const auto [input, scale, mean, inverse] = shared(parts);
    const std::size_t output = tensor(parts, TensorId::output);
    const std::size_t shift = vector(parts, TensorId::shift);
    const std::size_t epsilon = parts.host_number(TensorId::epsilon);
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_BATCH_NORM);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, parts[input]);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, parts[scale]);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, parts[shift]);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, parts[epsilon]);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, parts[mean]);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, parts[inverse]);
    part.set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, parts[output]);
    parts.operate(std::move(part));
  }

  void backward(GraphParts& parts) const {
    const auto [input, scale, mean, inverse] = shared(parts);
    const std::size_t dy = tensor(parts, TensorId::output_gradient);
    const std::size_t dx = tensor(parts, TensorId::input_gradient);
    const std::size_t dscale = vector(parts, TensorId::scale_gradient);
    const std::size_t dshift = vector(parts, TensorId::shift_gradient);
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_BATCH_NORM);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, parts[input]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, parts[dy]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, parts[scale]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, parts[mean]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, parts[inverse]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, parts[dscale]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, parts[dshift]);
    part.set(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, parts[dx]);
    parts.operate(std::move(part));
  }

  std::string what_;
  Order order_;
  cudnnDataType_t type_;
  Dims dims_;
  mutable float epsilon_;  ///< only read, but cuDNN takes no pointer to const
};

}  // namespace

std::shared_ptr<const GraphLayer> batch_norm_graphs(const OperationSpec& spec,
                                                    const BatchNorm& kind, Order order) {
  return std::make_shared<const BatchNormGraphs>(spec, kind, order);
}

}  // namespace dlscale::backend::cuda
