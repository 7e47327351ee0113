#include "tests/backend/compute/cuda/loop_device.hpp"

#include "backend/compute/cuda/kernels/batch_norm_operation.hpp"
#include "backend/compute/cuda/kernels/concat.hpp"
#include "backend/compute/cuda/kernels/elementwise.hpp"
#include "backend/compute/cuda/kernels/loss.hpp"
#include "backend/compute/cuda/kernels/lrn.hpp"
#include "backend/compute/cuda/kernels/pooling_operation.hpp"
#include "backend/compute/cuda/kernels/transpose.hpp"
#include "backend/compute/cuda/kernels/update.hpp"
#include "backend/compute/host_device.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"

namespace dlscale::backend::cuda {
namespace {

struct Maker {
  const OperationSpec& spec;
  Order order;
  using Made = std::unique_ptr<Operation>;

  Made operator()(const Pooling& kind) const {
    if (kind.kind == PoolingKind::max) return make<MaxPoolingOperation<LoopLauncher>>(kind);
    return make<AveragePoolingOperation<LoopLauncher>>(kind);
  }
  Made operator()(const Relu& /*kind*/) const { return make<ReluOperation<LoopLauncher>>(); }
  Made operator()(const Lrn& kind) const { return make<LrnOperation<LoopLauncher>>(kind); }
  Made operator()(const BatchNorm& kind) const {
    if (spec.layer.relu) return make<BatchNormOperation<LoopLauncher, Then::relu>>(kind);
    return make<BatchNormOperation<LoopLauncher, Then::nothing>>(kind);
  }
  Made operator()(const Dropout& kind) const { return make<DropoutOperation<LoopLauncher>>(kind); }
  Made operator()(const Concat& /*kind*/) const { return make<ConcatOperation<LoopLauncher>>(); }
  Made operator()(const Sum& /*kind*/) const { return make<SumOperation<LoopLauncher>>(); }
  Made operator()(const SoftmaxCrossEntropy& kind) const {
    return make<LossOperation<LoopLauncher>>(kind);
  }
  template <class Kind>
  Made operator()(const Kind& /*kind*/) const {
    throw Unsupported(describe(spec) + ": a library's");
  }

 private:
  template <class Made, class... Kind>
  [[nodiscard]] std::unique_ptr<Operation> make(const Kind&... kind) const {
    return std::make_unique<Made>(LoopLauncher(), spec, order, kind...);
  }
};

class LoopDevice final : public HostDevice {
 public:
  explicit LoopDevice(Order order) : order_(order) {}

  [[nodiscard]] std::string_view name() const override { return "loops"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] TensorDesc plain(Dims dims, DType dtype) const override {
    return tensor_desc(dims, dtype, Order::nchw);
  }
  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    check_specification(spec);
    return std::visit(Maker{spec, order_}, spec.layer.kind);
  }
  void copy(const Tensor& from, const Tensor& to) override {
    launch_convert(LoopLauncher(), from, to);
  }
  void accumulate(const Tensor& value, const Tensor& into) override {
    launch_accumulate(LoopLauncher(), value, into);
  }
  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    launch_update(LoopLauncher(), step, n, weights, gradients, momentum, low, DType::bf16);
  }
  void touch(std::byte* data, std::size_t bytes) override {
    const Touch code{data, bytes};
    LoopLauncher().each("touch", code, code.threads());
  }

 private:
  Order order_;
};

}  // namespace

std::unique_ptr<ComputeDevice> make_loop_device(Order order) {
  return std::make_unique<LoopDevice>(order);
}

std::unique_ptr<Operation> make_batch_norm_relu_on_loops(const OperationSpec& spec, Order order) {
  return std::make_unique<BatchNormOperation<LoopLauncher, Then::relu>>(
      LoopLauncher(), spec, order, std::get<BatchNorm>(spec.layer.kind));
}

}  // namespace dlscale::backend::cuda
