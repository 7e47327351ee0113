#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/gemm/product_tuning.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/cuda/runtime/operations.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// One algorithm for a product, with or without the bias in its epilogue.
struct Choice {
  Epilogue epilogue = Epilogue::none;
  ProductAlgorithm algorithm{};
};

/// The sizes of the three products. An image is a vector of `inputs` numbers in the device's order,
/// and the weights have the same order.
struct Sizes {
  std::int64_t images;
  std::int64_t inputs;
  std::int64_t outputs;
};

/// The product in cuBLAS's column-major terms: x is I × N, y is O × N and w is I × O.
ProductProblem product_of(const std::string& what, const Sizes& sizes, DType dtype, Pass pass,
                          Epilogue epilogue) {
  const Matrix x{sizes.inputs, sizes.images, dtype};
  const Matrix y{sizes.outputs, sizes.images, dtype};
  const Matrix w{sizes.inputs, sizes.outputs, dtype};
  if (pass == Pass::forward) {
    return {what, w, Transposed::yes, x, Transposed::no, y, epilogue};
  }
  if (pass == Pass::backward_data) {
    return {what, w, Transposed::no, y, Transposed::no, x, epilogue};
  }
  EXPECT(pass == Pass::backward_filter);
  const Matrix gradient{sizes.inputs, sizes.outputs, DType::f32};
  return {what, x, Transposed::no, y, Transposed::yes, gradient, epilogue};
}

/// One pass with one choice.
class ProductPass {
 public:
  /// `remark` is the origin of the choice.
  ProductPass(const Context& context, const OperationSpec& spec, const Sizes& sizes, Pass pass,
              const Choice& choice, bool has_bias, std::string remark = {})
      : context_(&context),
        pass_(pass),
        choice_(choice),
        remark_(std::move(remark)),
        y_(tensor_desc(output_dims(spec), spec.dtype, context.order)),
        bias_apart_(has_bias && pass != Pass::backward_data && choice.epilogue == Epilogue::none),
        product_(context, product_of(describe(spec), sizes, spec.dtype, pass, choice.epilogue)) {}

  [[nodiscard]] std::string name() const {
    return cuda::describe(choice_.algorithm) +
           (choice_.epilogue == Epilogue::none ? "" : " fused-bias") +
           (bias_apart_ ? "+bias" : "") + remark_;
  }

  [[nodiscard]] std::size_t scratch_bytes() const {
    return sum_bytes() + choice_.algorithm.workspace_bytes;
  }

  void run(const ProductMemory& memory, std::byte* scratch) const {
    product_.run(choice_.algorithm, memory, scratch + sum_bytes());
    if (!bias_apart_) return;
    if (pass_ == Pass::forward) {
      add_bias(context_->stream, memory.bias, {y_, static_cast<std::byte*>(memory.result)});
    } else {
      // The right matrix of this product is the gradient of the output, which is only read.
      auto* const gradient = static_cast<std::byte*>(const_cast<void*>(memory.right));
      bias_gradient(*context_, {y_, gradient}, memory.bias, scratch);
    }
  }

 private:
  [[nodiscard]] std::size_t sum_bytes() const {
    return bias_apart_ && pass_ == Pass::backward_filter
               ? aligned(bias_gradient_scratch(*context_, y_))
               : 0;
  }

  const Context* context_;
  Pass pass_;
  Choice choice_;
  std::string remark_;
  TensorDesc y_;
  bool bias_apart_;
  Product product_;
};

std::vector<Epilogue> epilogues_of(Pass pass, bool has_bias) {
  if (!has_bias || pass == Pass::backward_data) return {Epilogue::none};
  return {pass == Pass::forward ? Epilogue::add_bias : Epilogue::sum_right_columns, Epilogue::none};
}

/// Chooses the algorithm of each pass by trial.
class Tuner {
 public:
  Tuner(const Context& context, const OperationSpec& spec, const Sizes& sizes, bool has_bias)
      : context_(context), spec_(spec), sizes_(sizes), has_bias_(has_bias) {}

  [[nodiscard]] ProductPass make(Pass pass) const {
    const std::string key =
        fmt::format("fully connected {} {} {} {} {} bias{} {} of {} in {}", pass_name(pass),
                    sizes_.images, sizes_.inputs, sizes_.outputs, dtype_name(spec_.dtype),
                    has_bias_ ? 1 : 0, context_.order == Order::nhwc ? "nhwc" : "nchw",
                    most_product_algorithms, product_workspace_limit);
    const auto recall = [&](const KeptChoice& kept) -> std::optional<Choice> {
      std::string dropped;  // unused: the kept choice has its note
      for (const Choice& each : choices(pass, dropped)) {
        if (name_of(each) == kept.name) return each;
      }
      return std::nullopt;
    };
    const auto chosen =
        context_.choices->recall_or_choose<Choice>(key, recall, [&] { return tune(pass); });
    return pass_with(pass, chosen->choice, chosen->remark());
  }

 private:
  static std::string name_of(const Choice& choice) {
    return fmt::format("{}{}", digits_of(choice.algorithm),
                       choice.epilogue == Epilogue::none ? "" : " fused-bias");
  }

  [[nodiscard]] ProductPass pass_with(Pass pass, const Choice& choice,
                                      std::string remark = {}) const {
    return {context_, spec_, sizes_, pass, choice, has_bias_, std::move(remark)};
  }

  /// `dropped` receives the epilogue for which the library failed, and why; empty if none.
  [[nodiscard]] std::vector<Choice> choices(Pass pass, std::string& dropped) const {
    std::vector<Choice> all;
    for (const Epilogue epilogue : epilogues_of(pass, has_bias_)) {
      try {
        add_choices(pass, epilogue, all);
      } catch (const Error& error) {  // works without it, unless the device itself is broken
        if (epilogue == Epilogue::none) throw;
        dropped = fmt::format("without fused bias: {}", error.what());
        check(cudaStreamSynchronize(context_.stream), "cudaStreamSynchronize", describe(spec_));
      }
    }
    return all;
  }

  void add_choices(Pass pass, Epilogue epilogue, std::vector<Choice>& to) const {
    const Product product(context_,
                          product_of(describe(spec_), sizes_, spec_.dtype, pass, epilogue));
    for (const ProductAlgorithm& each : product.recommended(most_product_algorithms)) {
      to.push_back({epilogue, each});
    }
  }

  [[nodiscard]] Trialled<Choice> tune(Pass pass) const {
    std::string dropped;
    const std::vector<Choice> all = choices(pass, dropped);
    ProductCandidates candidates;
    for (const Choice& choice : all) {
      const auto made = std::make_shared<const ProductPass>(pass_with(pass, choice));
      candidates.trials.push_back({made->name(), made->scratch_bytes(),
                                   [made](const ProductMemory& memory, std::byte* scratch) {
                                     made->run(memory, scratch);
                                   }});
    }
    const auto plain = std::ranges::find(all, Epilogue::none, &Choice::epilogue);
    candidates.plain = plain == all.end() ? 0 : static_cast<std::size_t>(plain - all.begin());
    if (has_bias_ && pass == Pass::backward_filter) {
      candidates.bias_sums = static_cast<std::size_t>(sizes_.outputs);
    }
    const ProductProblem problem =
        product_of(fmt::format("{} {}", describe(spec_), pass_name(pass)), sizes_, spec_.dtype,
                   pass, Epilogue::none);
    const auto [best, note] = fastest_product(context_, problem, candidates);
    const Choice& chosen = all[best.index];
    const std::string between = note.empty() || dropped.empty() ? "" : "; ";
    return {chosen, name_of(chosen), best.time, {}, dropped + between + note};
  }

  const Context& context_;
  const OperationSpec& spec_;
  Sizes sizes_;
  bool has_bias_;
};

class FullyConnectedOperation final : public Operation {
 public:
  FullyConnectedOperation(const Context& context, const OperationSpec& spec, const Tuner& tuner,
                          bool has_bias)
      : output_(tensor_desc(output_dims(spec), spec.dtype, context.order)),
        forward_(tuner.make(Pass::forward)),
        backward_data_(tuner.make(Pass::backward_data)),
        backward_filter_(tuner.make(Pass::backward_filter)) {
    const Dims weights = weight_dims(spec);
    parameters_.push_back({ParameterRole::weight, tensor_desc(weights, spec.dtype, context.order),
                           tensor_desc(weights, DType::f32, context.order)});
    if (!has_bias) return;
    const auto vector = tensor_desc(vector_dims(weights[0]), DType::f32, context.order);
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
    return way(pass).scratch_bytes() + scratch_alignment;
  }
  [[nodiscard]] bool has(Pass pass) const override { return pass != Pass::accumulate; }
  [[nodiscard]] std::string implementation(Pass pass) const override { return way(pass).name(); }

  void run(Pass pass, const Operands& operands) override {
    way(pass).run(memory_of(pass, operands), first_aligned(operands.scratch));
  }

 private:
  [[nodiscard]] const ProductPass& way(Pass pass) const {
    EXPECT(has(pass));
    if (pass == Pass::forward) return forward_;
    return pass == Pass::backward_data ? backward_data_ : backward_filter_;
  }

  [[nodiscard]] ProductMemory memory_of(Pass pass, const Operands& operands) const {
    const auto bias = [&](std::span<const Tensor> tensors) {
      return parameters_.size() > 1 ? tensors[1].as<float>() : nullptr;
    };
    if (pass == Pass::forward) {
      return {operands.parameters[0].data, operands.inputs[0].data, operands.output.data,
              bias(operands.parameters)};
    }
    if (pass == Pass::backward_data) {
      return {operands.parameters[0].data, operands.output_gradient.data,
              operands.input_gradients[0].data, nullptr};
    }
    return {operands.inputs[0].data, operands.output_gradient.data,
            operands.parameter_gradients[0].data, bias(operands.parameter_gradients)};
  }

  TensorDesc output_;
  std::vector<Parameter> parameters_;
  ProductPass forward_;
  ProductPass backward_data_;
  ProductPass backward_filter_;
};

}  // namespace

std::unique_ptr<Operation> make_fully_connected(const Context& context, const OperationSpec& spec,
                                                const FullyConnected& kind) {
  const Sizes sizes{spec.batch, spec.layer.input_shapes.front().elements(), kind.outputs};
  const Tuner tuner(context, spec, sizes, kind.bias);
  return std::make_unique<FullyConnectedOperation>(context, spec, tuner, kind.bias);
}

}  // namespace dlscale::backend::cuda
