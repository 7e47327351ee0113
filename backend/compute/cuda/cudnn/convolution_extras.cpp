#include "backend/compute/cuda/cudnn/convolution_extras.hpp"

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

ConvolutionExtras::ConvolutionExtras(const Context& context, const ConvolutionProblem& problem,
                                     const GraphForm& form)
    : context_(&context),
      output_(tensor_desc(problem.output, problem.dtype, problem.order)),
      low_weights_(tensor_desc(problem.weights, problem.dtype, problem.order)),
      weights_(tensor_desc(problem.weights, DType::f32, problem.order)),
      add_bias_(problem.bias && form.pass == Pass::forward && form.fusion == Fusion::none),
      rectify_(problem.relu && form.pass == Pass::forward && form.fusion != Fusion::relu),
      sum_bias_(problem.bias && form.pass == Pass::backward_filter) {
  if (form.pass == Pass::backward_filter && form.weight_gradient == GradientPrecision::low) {
    gradient_bytes_ = aligned(low_weights_.layout.bytes);
  }
  if (sum_bias_) sum_bytes_ = aligned(bias_gradient_scratch(context, output_));
}

std::string ConvolutionExtras::name() const {
  std::string name;
  if (has_low_gradient()) name += "+convert";
  if (add_bias_ || sum_bias_) name += "+bias";
  if (rectify_) name += "+relu";
  return name;
}

void ConvolutionExtras::run(const ConvolutionMemory& memory, std::byte* scratch) const {
  if (has_low_gradient()) {
    convert(context_->stream, {low_weights_, low_gradient(scratch)}, {weights_, memory.weights});
  }
  const Tensor output{output_, memory.output};
  if (add_bias_ && rectify_) {
    add_bias_relu(context_->stream, memory.bias, output);
  } else if (add_bias_) {
    add_bias(context_->stream, memory.bias, output);
  } else if (rectify_) {
    rectify(context_->stream, output);
  }
  if (sum_bias_) {
    bias_gradient(*context_, output, memory.bias, scratch + gradient_bytes_);
  }
}

}  // namespace dlscale::backend::cuda
