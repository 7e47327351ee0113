#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// y[n] = -log p[label]; NaN for a label that is not a class, so that the error shows.
struct PickedLoss {
  const float* logarithms;
  const std::int32_t* labels;
  float* y;
  std::int32_t classes;

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t image) const {
    const std::int32_t label = labels[image];
    y[image] = label < 0 || label >= classes ? std::numeric_limits<float>::quiet_NaN()
                                             : -logarithms[std::int64_t{image} * classes + label];
  }
};

/// dx = factor · (p - onehot(label))
template <class T>
struct LogarithmGradient {
  const float* logarithms;
  const std::int32_t* labels;
  T* dx;
  float factor;
  Divisor classes;

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto [image, c] = classes.split(thread);
    const float p = std::exp(logarithms[thread]);
    const bool is_label = static_cast<std::int32_t>(c) == labels[image];
    dx[thread] = from_float<T>(factor * (is_label ? p - 1 : p));
  }
};

/// The loss around a library's softmax. `log_softmax(x, logarithms)` enqueues log p of N × C × 1 ×
/// 1 numbers x, in f32; log_softmax.name() is its name. The state holds the labels, which are on
/// the host until forward, and the logarithms.
template <class Launcher, class LogSoftmax>
class SoftmaxLossOperation final : public LayerOperation {
 public:
  SoftmaxLossOperation(Launcher launcher, LogSoftmax log_softmax, const OperationSpec& spec,
                       Order order, const SoftmaxCrossEntropy& kind)
      : LayerOperation(tensor_desc(output_dims(spec), DType::f32, order)),
        launcher_(std::move(launcher)),
        log_softmax_(std::move(log_softmax)),
        dtype_(spec.dtype),
        images_(spec.batch),
        classes_(spec.layer.input_shapes.front().elements()),
        factor_(static_cast<float>(kind.loss_weight / spec.batch)) {
    set_state(label_bytes() + static_cast<std::size_t>(images_ * classes_) * sizeof(float));
  }

  [[nodiscard]] std::string implementation(Pass pass) const override {
    EXPECT(has(pass));
    return pass == Pass::forward ? log_softmax_.name() + "+own:loss" : "own:loss_gradient";
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    std::byte* const state = begin(operands.state);
    auto* labels = reinterpret_cast<std::int32_t*>(state);
    auto* logarithms = reinterpret_cast<float*>(state + label_bytes());
    if (pass == Pass::forward) {
      upload(operands, state);
      log_softmax_(operands.inputs[0], logarithms);
      const PickedLoss code{logarithms, labels, operands.output.template as<float>(),
                            static_cast<std::int32_t>(classes_)};
      return launcher_.each("loss of logarithms", code, images_);
    }
    with_element(dtype_, [&]<class T>(T) {
      const LogarithmGradient<T> code{logarithms, labels,
                                      operands.input_gradients[0].template as<T>(), factor_,
                                      Divisor(classes_)};
      launcher_.each("loss gradient of logarithms", code, images_ * classes_);
    });
  }

 private:
  /// In a CUDA graph this becomes a copy that reads the labels anew at every replay.
  void upload(const Operands& operands, std::byte* state) const {
    EXPECT(operands.labels.size() == static_cast<std::size_t>(images_));
    for (const std::int32_t label : operands.labels) EXPECT(label >= 0 && label < classes_);
    launcher_.upload(operands.labels.data(), state, operands.labels.size_bytes());
  }
  [[nodiscard]] std::size_t label_bytes() const {
    return aligned(static_cast<std::size_t>(images_) * sizeof(std::int32_t));
  }

  Launcher launcher_;
  LogSoftmax log_softmax_;
  DType dtype_;
  std::int64_t images_;
  std::int64_t classes_;
  float factor_;
};

}  // namespace dlscale::backend::cuda
