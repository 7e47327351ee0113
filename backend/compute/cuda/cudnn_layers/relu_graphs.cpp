#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_parts.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// The engines for pointwise graphs want nhwc tensors. Where the elements of a dense tensor lie
/// does not matter here, so an nchw one is described as nhwc with its planes for pixels: N × W × C
/// × H of cuDNN lies as N × C × H × W of ours.
Dims as_nhwc(const Dims& dims, Order order) {
  const auto& [images, channels, height, width] = dims;
  if (order == Order::nhwc) return dims;
  return {images, width, channels, height};
}

class ReluGraphs final : public GraphLayer {
 public:
  ReluGraphs(const OperationSpec& spec, Order order)
      : what_(describe(spec)),
        type_(data_type(spec.dtype)),
        dims_(as_nhwc(output_dims(spec), order)) {}

  [[nodiscard]] Graph graph(const Target& target, Pass pass) const override {
    GraphParts parts(what_, Order::nhwc);
    if (pass == Pass::forward) {
      forward(parts);
    } else {
      EXPECT(pass == Pass::backward_data);
      backward(parts);
    }
    return std::move(parts).graph(target);
  }

  [[nodiscard]] std::vector<Binding> bindings(Pass pass, const Operands& operands,
                                              std::byte* /*state*/) const override {
    if (pass == Pass::forward) {
      return {{TensorId::input, operands.inputs[0].data}, {TensorId::output, operands.output.data}};
    }
    return {{TensorId::output, operands.output.data},
            {TensorId::output_gradient, operands.output_gradient.data},
            {TensorId::input_gradient, operands.input_gradients[0].data}};
  }

 private:
  static std::size_t function(GraphParts& parts, cudnnPointwiseMode_t mode) {
    Descriptor part = parts.descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    part.set(CUDNN_ATTR_POINTWISE_MODE, mode);
    part.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    return parts.keep(std::move(part));
  }

  void forward(GraphParts& parts) const {
    const std::size_t relu = function(parts, CUDNN_POINTWISE_RELU_FWD);
    const std::size_t input = parts.tensor(TensorId::input, dims_, type_);
    const std::size_t output = parts.tensor(TensorId::output, dims_, type_);
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts[relu]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts[input]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts[output]);
    parts.operate(std::move(part));
  }

  /// The output is positive where the input is, and stands for it.
  void backward(GraphParts& parts) const {
    const std::size_t relu = function(parts, CUDNN_POINTWISE_RELU_BWD);
    const std::size_t output = parts.tensor(TensorId::output, dims_, type_);
    const std::size_t dy = parts.tensor(TensorId::output_gradient, dims_, type_);
    const std::size_t dx = parts.tensor(TensorId::input_gradient, dims_, type_);
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts[relu]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts[output]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, parts[dy]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, parts[dx]);
    parts.operate(std::move(part));
  }

  std::string what_;
  cudnnDataType_t type_;
  Dims dims_;
};

}  // namespace

std::shared_ptr<const GraphLayer> relu_graphs(const OperationSpec& spec, Order order) {
  return std::make_shared<const ReluGraphs>(spec, order);
}

}  // namespace dlscale::backend::cuda
