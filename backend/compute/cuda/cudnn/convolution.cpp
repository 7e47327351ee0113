#include <algorithm>
#include <utility>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/cudnn/graph_convolution.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/cuda/runtime/operations.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class ConvolutionOperation final : public Operation {
 public:
  ConvolutionOperation(const Context& context, const ConvolutionProblem& problem,
                       std::unique_ptr<ConvolutionPass> forward,
                       std::unique_ptr<ConvolutionPass> backward_data,
                       std::unique_ptr<ConvolutionPass> backward_filter)
      : context_(&context),
        relu_(problem.relu),
        output_(tensor_desc(problem.output, problem.dtype, problem.order)),
        forward_(std::move(forward)),
        backward_data_(std::move(backward_data)),
        backward_filter_(std::move(backward_filter)) {
    parameters_.push_back({ParameterRole::weight,
                           tensor_desc(problem.weights, problem.dtype, problem.order),
                           tensor_desc(problem.weights, DType::f32, problem.order)});
    if (!problem.bias) return;
    const auto vector = tensor_desc(vector_dims(problem.output[1]), DType::f32, problem.order);
    parameters_.push_back({ParameterRole::bias, vector, vector});
  }

  [[nodiscard]] const TensorDesc& output() const override { return output_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t state_bytes() const override { return 0; }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return std::max({pass_scratch_bytes(Pass::forward), pass_scratch_bytes(Pass::backward_data),
                     pass_scratch_bytes(Pass::backward_filter)});
  }
  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    // Adds the bytes needed to begin on a boundary.
    return way(pass).scratch_bytes() + scratch_alignment;
  }
  [[nodiscard]] bool has(Pass pass) const override { return pass != Pass::accumulate; }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    return (masks(pass) ? "relu+" : "") + way(pass).name();
  }

  void run(Pass pass, const Operands& operands) override {
    if (masks(pass)) {
      relu_gradient(context_->stream, operands.output, operands.output_gradient,
                    operands.output_gradient);
    }
    way(pass).run(memory_of(pass, operands), first_aligned(operands.scratch));
  }

 private:
  /// Whether the pass masks the gradient: one does, for both backward passes (see Operation).
  [[nodiscard]] bool masks(Pass pass) const { return relu_ && pass == Pass::backward_filter; }

  [[nodiscard]] ConvolutionPass& way(Pass pass) const {
    EXPECT(has(pass));
    if (pass == Pass::forward) return *forward_;
    return pass == Pass::backward_data ? *backward_data_ : *backward_filter_;
  }

  [[nodiscard]] ConvolutionMemory memory_of(Pass pass, const Operands& operands) const {
    const auto& parameters =
        pass == Pass::backward_filter ? operands.parameter_gradients : operands.parameters;
    const Tensor& input =
        pass == Pass::backward_data ? operands.input_gradients[0] : operands.inputs[0];
    const Tensor& output = pass == Pass::forward ? operands.output : operands.output_gradient;
    const bool bias = parameters_.size() > 1 && pass != Pass::backward_data;
    return {.input = input.data,
            .weights = parameters[0].data,
            .output = output.data,
            .bias = bias ? parameters[1].as<float>() : nullptr};
  }

  const Context* context_;
  bool relu_;
  TensorDesc output_;
  std::vector<Parameter> parameters_;
  std::unique_ptr<ConvolutionPass> forward_;
  std::unique_ptr<ConvolutionPass> backward_data_;
  std::unique_ptr<ConvolutionPass> backward_filter_;
};

}  // namespace

std::unique_ptr<Operation> make_convolution(const Context& context,
                                            const ConvolutionProblem& problem,
                                            std::unique_ptr<ConvolutionPass> forward,
                                            std::unique_ptr<ConvolutionPass> backward_data,
                                            std::unique_ptr<ConvolutionPass> backward_filter) {
  return std::make_unique<ConvolutionOperation>(
      context, problem, std::move(forward), std::move(backward_data), std::move(backward_filter));
}

std::unique_ptr<Operation> make_convolution(const Context& context, const OperationSpec& spec,
                                            const Convolution& kind) {
  const ConvolutionProblem problem = problem_of(spec, kind, context.order);
  return make_convolution(context, problem, make_tuned_pass(context, problem, Pass::forward),
                          make_tuned_pass(context, problem, Pass::backward_data),
                          make_tuned_pass(context, problem, Pass::backward_filter));
}

}  // namespace dlscale::backend::cuda
