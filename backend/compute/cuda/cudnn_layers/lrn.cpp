#include <fmt/format.h>

#include "backend/compute/cuda/cudnn/legacy_convolution.hpp"
#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

using LrnDescriptor = Owner<cudnnLRNDescriptor_t, cudnnDestroyLRNDescriptor>;

void expect_within_limits(const OperationSpec& spec, const Lrn& kind) {
  if (kind.size >= CUDNN_LRN_MIN_N && kind.size <= CUDNN_LRN_MAX_N && kind.k >= CUDNN_LRN_MIN_K &&
      kind.beta >= CUDNN_LRN_MIN_BETA) {
    return;
  }
  throw Unsupported(
      fmt::format("{}: cuDNN has LRN for size {} to {}, k from {} and beta from {}, not for size "
                  "{}, k {} and beta {}. Our own kernels do it.",
                  describe(spec), CUDNN_LRN_MIN_N, CUDNN_LRN_MAX_N, CUDNN_LRN_MIN_K,
                  CUDNN_LRN_MIN_BETA, kind.size, kind.k, kind.beta));
}

/// cuDNN divides alpha by the size as the layer does; its window of an odd size is centred.
LrnDescriptor lrn_descriptor(const OperationSpec& spec, const Lrn& kind) {
  expect_within_limits(spec, kind);
  cudnnLRNDescriptor_t raw = nullptr;
  check(cudnnCreateLRNDescriptor(&raw), "cudnnCreateLRNDescriptor", describe(spec));
  LrnDescriptor made(raw);
  check(cudnnSetLRNDescriptor(raw, static_cast<unsigned>(kind.size), kind.alpha, kind.beta, kind.k),
        "cudnnSetLRNDescriptor", describe(spec));
  return made;
}

class CudnnLrn final : public LayerOperation {
 public:
  CudnnLrn(const Context& context, const OperationSpec& spec, const Lrn& kind)
      : LayerOperation(tensor_desc(output_dims(spec), spec.dtype, context.order)),
        handle_(context.cudnn),
        what_(describe(spec)),
        lrn_(lrn_descriptor(spec, kind)),
        tensor_(make_legacy_tensor(output().dims, spec.dtype, context.order, what_)) {}

  [[nodiscard]] std::string implementation(Pass pass) const override {
    EXPECT(has(pass));
    return "cudnn lrn";
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    constexpr float one = 1;
    constexpr float zero = 0;
    auto* const tensor = tensor_.get();
    if (pass == Pass::forward) {
      check(cudnnLRNCrossChannelForward(handle_, lrn_.get(), CUDNN_LRN_CROSS_CHANNEL_DIM1, &one,
                                        tensor, operands.inputs[0].data, &zero, tensor,
                                        operands.output.data),
            "cudnnLRNCrossChannelForward", what_);
    } else {
      check(cudnnLRNCrossChannelBackward(
                handle_, lrn_.get(), CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, tensor,
                operands.output.data, tensor, operands.output_gradient.data, tensor,
                operands.inputs[0].data, &zero, tensor, operands.input_gradients[0].data),
            "cudnnLRNCrossChannelBackward", what_);
    }
  }

 private:
  cudnnHandle_t handle_;
  std::string what_;
  LrnDescriptor lrn_;
  LegacyTensor tensor_;
};

}  // namespace

std::unique_ptr<Operation> make_cudnn_lrn(const Context& context, const OperationSpec& spec,
                                          const Lrn& kind) {
  return std::make_unique<CudnnLrn>(context, spec, kind);
}

}  // namespace dlscale::backend::cuda
