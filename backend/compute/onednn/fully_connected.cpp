#include "backend/compute/onednn/assembly.hpp"

namespace dlscale::backend::onednn_device {

namespace {

/// The three primitives of a fully connected layer for one order of the weights.
struct InnerProducts {
  dnnl::inner_product_forward::primitive_desc forward;
  dnnl::inner_product_backward_data::primitive_desc backward_data;
  dnnl::inner_product_backward_weights::primitive_desc backward_weights;

  /// Whether all passes use the weights and gradients in the order of forward.
  [[nodiscard]] bool agree() const {
    const Desc kept = forward.weights_desc();
    return same_memory(backward_data.weights_desc(), kept) &&
           same_memory(backward_weights.diff_weights_desc(), with_type(kept, DataType::f32));
  }
};

/// Images as vectors, with pixels and channels in plain order, as the input is small relative to
/// the weights.
struct Shapes {
  Desc x;
  Desc y;
  Desc bias;
};

InnerProducts make(const dnnl::engine& engine, const Shapes& shapes, const Desc& weights,
                   const Desc& weight_gradient) {
  const auto& [x, y, bias] = shapes;
  const auto forward = inner_product_forward(engine, x, weights, bias, y);
  return {forward, inner_product_backward_data(engine, x, weights, y, forward),
          inner_product_backward_weights(engine, x, weight_gradient, bias, y, forward)};
}

/// Lets the library choose the order of the weights if all passes choose the same one. Otherwise
/// the weights are a plain input-major matrix, which every pass can multiply. Differing orders
/// would move the weights an extra time in every iteration, which costs more than the chosen order
/// gains.
InnerProducts choose(const dnnl::engine& engine, const Shapes& shapes, const MemoryDims& dims,
                     DataType type) {
  InnerProducts chosen = make(engine, shapes, any(dims, type), any(dims, DataType::f32));
  if (chosen.agree()) return chosen;
  const MemoryDims input_major{1, dims[0]};
  return make(engine, shapes, {dims, type, input_major}, {dims, DataType::f32, input_major});
}

}  // namespace

void assemble_fully_connected(Assembly& assembly, const FullyConnected& kind) {
  const OperationSpec& spec = assembly.spec();
  const std::int64_t inputs = spec.layer.input_shapes.front().elements();
  const Shapes shapes{plain({spec.batch, inputs}, assembly.type()),
                      plain({spec.batch, kind.outputs}, assembly.type()),
                      kind.bias ? plain({kind.outputs}, DataType::f32) : Desc()};
  const InnerProducts products =
      choose(assembly.engine(), shapes, {kind.outputs, inputs}, assembly.type());

  assembly.set_output(plain(library_dims(output_dims(spec)), assembly.type()));
  assembly.add_parameter(ParameterRole::weight, weight_dims(spec), products.forward.weights_desc());
  if (kind.bias) {
    assembly.add_parameter(ParameterRole::bias, vector_dims(kind.outputs), shapes.bias);
  }

  std::vector<Argument> forward{reads(DNNL_ARG_SRC, assembly.input()),
                                reads(DNNL_ARG_WEIGHTS, assembly.parameter(0)),
                                writes(DNNL_ARG_DST, assembly.output())};
  std::vector<Argument> backward_filter{
      reads(DNNL_ARG_SRC, assembly.input()), reads(DNNL_ARG_DIFF_DST, assembly.output_gradient()),
      writes(DNNL_ARG_DIFF_WEIGHTS, assembly.parameter_gradient(0))};
  if (kind.bias) {
    forward.push_back(reads(DNNL_ARG_BIAS, assembly.parameter(1)));
    backward_filter.push_back(writes(DNNL_ARG_DIFF_BIAS, assembly.parameter_gradient(1)));
  }
  assembly.plan(Pass::forward).add(products.forward, forward);
  assembly.plan(Pass::backward_data)
      .add(products.backward_data, {reads(DNNL_ARG_DIFF_DST, assembly.output_gradient()),
                                    reads(DNNL_ARG_WEIGHTS, assembly.parameter(0)),
                                    writes(DNNL_ARG_DIFF_SRC, assembly.input_gradient())});
  assembly.plan(Pass::backward_filter).add(products.backward_weights, backward_filter);
}

}  // namespace dlscale::backend::onednn_device
