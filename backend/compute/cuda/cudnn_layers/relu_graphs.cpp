#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_parts.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// The engines for pointwise graphs require nhwc tensors. The order of a dense tensor does not
/// matter here, so an nchw one is described as nhwc with its planes as pixels: N × W × C × H for
/// cuDNN is N × C × H × W in memory.
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
  [[nodiscard]] std::size_t tensor(GraphParts& parts, TensorId id) const {
    return parts.tensor(id, dims_, type_);
  }

  /// An operation that applies a function; the caller adds the tensors that it reads and writes.
  static Descriptor operation(GraphParts& parts, cudnnPointwiseMode_t mode) {
    Descriptor function = parts.descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    const std::size_t kept = parts.keep(std::move(function));
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts[kept]);
    return part;
  }

  void forward(GraphParts& parts) const {
    Descriptor part = operation(parts, CUDNN_POINTWISE_RELU_FWD);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts[tensor(parts, TensorId::input)]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts[tensor(parts, TensorId::output)]);
    parts.operate(std::move(part));
  }

  /// Uses the output in place of the input: both are positive at the same elements.
  void backward(GraphParts& parts) const {
    Descriptor part = operation(parts, CUDNN_POINTWISE_RELU_BWD);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts[tensor(parts, TensorId::output)]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC,
             parts[tensor(parts, TensorId::output_gradient)]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, parts[tensor(parts, TensorId::input_gradient)]);
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
