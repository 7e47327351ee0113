#include "backend/compute/cuda/cudnn_layers/softmax_loss.hpp"

#include "backend/compute/cuda/cudnn/legacy_convolution.hpp"
#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/launch.cuh"

namespace dlscale::backend::cuda {
namespace {

/// log p in f32 whatever the precision of x: with a thousand classes it is near -7, of which bf16
/// keeps 8 bits. cuDNN allows in-place computation.
class CudnnLogSoftmax {
 public:
  CudnnLogSoftmax(const Context& context, const OperationSpec& spec)
      : context_(&context),
        what_(backend::describe(spec)),
        wide_(tensor_desc(spec.inputs.front().dims, DType::f32, context.order)),
        converts_(element_bytes(spec.dtype) < sizeof(float)),
        tensor_(make_legacy_tensor(wide_.dims, DType::f32, context.order, what_)) {}

  [[nodiscard]] std::string name() const {
    return converts_ ? "convert+cudnn softmax LOG" : "cudnn softmax LOG";
  }

  void operator()(const Tensor& x, float* logarithms) const {
    if (converts_) {
      convert(context_->stream, x, {wide_, reinterpret_cast<std::byte*>(logarithms)});
    }
    constexpr float one = 1;
    constexpr float zero = 0;
    const void* from = converts_ ? static_cast<const void*>(logarithms) : x.data;
    check(cudnnSoftmaxForward(context_->cudnn, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE, &one,
                              tensor_.get(), from, &zero, tensor_.get(), logarithms),
          "cudnnSoftmaxForward", what_);
  }

 private:
  const Context* context_;
  std::string what_;
  TensorDesc wide_;
  bool converts_;
  LegacyTensor tensor_;
};

}  // namespace

std::unique_ptr<Operation> make_softmax_loss(const Context& context, const OperationSpec& spec,
                                             const SoftmaxCrossEntropy& kind) {
  return std::make_unique<SoftmaxLossOperation<StreamLauncher, CudnnLogSoftmax>>(
      StreamLauncher(context, spec), CudnnLogSoftmax(context, spec), spec, context.order, kind);
}

}  // namespace dlscale::backend::cuda
