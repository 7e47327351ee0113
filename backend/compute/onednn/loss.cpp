#include <cmath>

#include "backend/compute/onednn/assembly.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::onednn_device {

namespace {

using Index = std::int64_t;

struct LossShape {
  Index images;
  Index classes;
};

Index label_of(const Operands& operands, const LossShape& shape, Index n) {
  EXPECT(operands.labels.size() == static_cast<std::size_t>(shape.images));
  const Index label = operands.labels[n];
  EXPECT(label >= 0 && label < shape.classes);
  return label;
}

/// `addresses`: log p, loss
void pick_labels(const LossShape& shape, const PassPlan::Addresses& addresses,
                 const Operands& operands) {
  const auto* log_p = reinterpret_cast<const float*>(addresses[0]);
  auto* loss = reinterpret_cast<float*>(addresses[1]);
  for (Index n = 0; n < shape.images; ++n) {
    loss[n] = -log_p[n * shape.classes + label_of(operands, shape, n)];
  }
}

/// `addresses`: log p, gradient of the input
void differentiate(const LossShape& shape, float factor, const PassPlan::Addresses& addresses,
                   const Operands& operands) {
  const auto* log_p = reinterpret_cast<const float*>(addresses[0]);
  auto* dx = reinterpret_cast<float*>(addresses[1]);
  for (Index i = 0; i < shape.images * shape.classes; ++i) dx[i] = factor * std::exp(log_p[i]);
  for (Index n = 0; n < shape.images; ++n) {
    dx[n * shape.classes + label_of(operands, shape, n)] -= factor;
  }
}

}  // namespace

/// Assembles the loss. log p is computed in f32 and kept for backward.
void assemble_loss(Assembly& assembly, const SoftmaxCrossEntropy& kind) {
  const OperationSpec& spec = assembly.spec();
  const LossShape shape{spec.batch, spec.layer.input_shapes.front().elements()};
  const Desc features = plain({shape.images, shape.classes}, DataType::f32);
  const Endpoint log_p = assembly.add_state(features);
  const auto factor = static_cast<float>(kind.loss_weight / static_cast<double>(shape.images));

  assembly.set_output(plain(library_dims(output_dims(spec)), DataType::f32));
  PassPlan& forward = assembly.plan(Pass::forward);
  forward.add(log_softmax_forward(assembly.engine(), features),
              {reads(DNNL_ARG_SRC, assembly.input()), writes(DNNL_ARG_DST, log_p)});
  forward.add_loop(
      {{reads(0, log_p), features}, {writes(1, assembly.output()), assembly.output().desc}},
      [shape](const PassPlan::Addresses& addresses, const Operands& operands) {
        pick_labels(shape, addresses, operands);
      });
  assembly.plan(Pass::backward_data)
      .add_loop({{reads(0, log_p), features}, {writes(1, assembly.input_gradient()), features}},
                [shape, factor](const PassPlan::Addresses& addresses, const Operands& operands) {
                  differentiate(shape, factor, addresses, operands);
                });
}

}  // namespace dlscale::backend::onednn_device
