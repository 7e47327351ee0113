#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "backend/compute/cuda/kernels/batch_norm.hpp"
#include "backend/compute/cuda/kernels/channels.hpp"

namespace dlscale::backend::cuda {

/// Training form: forward computes the statistics of the batch. Backward writes the gradients of
/// input, scale and shift.
template <class Launcher, Then then>
class BatchNormOperation final : public OwnOperation {
 public:
  BatchNormOperation(Launcher launcher, const OperationSpec& spec, Order order,
                     const BatchNorm& kind)
      : OwnOperation(spec, order, then == Then::relu ? "batch_norm+relu" : "batch_norm"),
        launcher_(std::move(launcher)),
        epsilon_(static_cast<float>(kind.epsilon)) {
    add_parameter(ParameterRole::scale, channels());
    add_parameter(ParameterRole::shift, channels());
    set_state(BatchNormState::bytes(channels()));
    set_scratch(coefficient_bytes() +
                partial_bytes(channels(), launcher_.processors(), sizeof(Moments)));
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    const bool forward = pass == Pass::forward;
    const std::byte* x = operands.inputs[0].data;
    const std::byte* shift = operands.parameters[1].data;
    const std::byte* y = forward ? operands.output.data : operands.output_gradient.data;
    const std::byte* dx = forward ? nullptr : operands.input_gradients[0].data;
    with_element(dtype(), [&]<class T>(T) {
      with_channels<T>(output(), {x, shift, y, dx, operands.state, operands.scratch},
                       [&]<class View>() { run_with<T, View>(pass, operands); });
    });
  }

 private:
  [[nodiscard]] std::int64_t channels() const { return output().dims[1]; }
  /// Size of two arrays for backward.
  [[nodiscard]] std::size_t coefficient_bytes() const {
    return 2 * static_cast<std::size_t>(BatchNormState::padded(channels())) * sizeof(float);
  }

  template <class T, class View>
  void run_with(Pass pass, const Operands& operands) const {
    const View view(output().dims);
    if (pass == Pass::forward) {
      forward<T>(view, operands);
    } else {
      backward<T>(view, operands);
    }
  }

  template <class T, class View>
  void forward(const View& view, const Operands& operands) const {
    const BatchNormState state(operands.state, channels());
    const T* x = operands.inputs[0].template as<const T>();
    launch_sums(launcher_, "batch statistics", view, MomentsPart<T, View>{x},
                tiling_of(launcher_, view), operands.scratch + coefficient_bytes(),
                MomentsFinish{state, operands.parameters[0].template as<const float>(), epsilon_});
    using Part = Normalised<View, then>;
    ChannelMap<T, View, Part> map(view,
                                  Part{state, operands.parameters[1].template as<const float>()},
                                  operands.output.template as<T>());
    map.in[0] = x;
    launcher_.each("batch norm", map, map.threads());
  }

  template <class T, class View>
  void backward(const View& view, const Operands& operands) const {
    const BatchNormState state(operands.state, channels());
    const T* x = operands.inputs[0].template as<const T>();
    const T* dy = operands.output_gradient.template as<const T>();
    const auto* shift = operands.parameters[1].template as<const float>();
    auto* offset = reinterpret_cast<float*>(operands.scratch);
    auto* slope = offset + BatchNormState::padded(channels());
    const std::int64_t elements = output().elements() / channels();
    launch_sums(launcher_, "batch norm gradient sums", view,
                GradientPart<T, View, then>{x, dy, state, shift}, tiling_of(launcher_, view),
                operands.scratch + coefficient_bytes(),
                GradientFinish{state.inverse, operands.parameter_gradients[0].template as<float>(),
                               operands.parameter_gradients[1].template as<float>(), offset, slope,
                               static_cast<float>(elements)});
    using Part = InputGradient<T, View, then>;
    ChannelMap<T, View, Part> map(view, Part{state, offset, slope, shift},
                                  operands.input_gradients[0].template as<T>());
    map.in[0] = x;
    map.in[1] = dy;
    launcher_.each("batch norm gradient", map, map.threads());
  }

  Launcher launcher_;
  float epsilon_;
};

}  // namespace dlscale::backend::cuda
