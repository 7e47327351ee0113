#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/cuda/runtime/operations.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

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

/// A product and the algorithm for it.
struct Choice {
  Product product;
  ProductAlgorithm algorithm;
};

std::vector<Epilogue> epilogues_of(Pass pass, bool has_bias) {
  if (!has_bias || pass == Pass::backward_data) return {Epilogue::none};
  return {pass == Pass::forward ? Epilogue::add_bias : Epilogue::sum_right_columns, Epilogue::none};
}

/// Adds the bias in the epilogue of the product, if cuBLASLt offers that.
Choice choose(const Context& context, const OperationSpec& spec, const Sizes& sizes, Pass pass,
              bool has_bias) {
  for (const Epilogue epilogue : epilogues_of(pass, has_bias)) {
    try {
      Product product(context, product_of(describe(spec), sizes, spec.dtype, pass, epilogue));
      if (const auto found = product.find_algorithm()) return {std::move(product), *found};
    } catch (const LibraryError&) {  // it works without the epilogue, unless the device is broken
      if (epilogue == Epilogue::none) throw;
    }
  }
  throw Unsupported(fmt::format("{}: cuBLASLt {} has no algorithm for {}.", describe(spec),
                                cublasLtGetVersion(), pass_name(pass)));
}

/// One pass.
class ProductPass {
 public:
  ProductPass(const Context& context, const OperationSpec& spec, const Sizes& sizes, Pass pass,
              bool has_bias)
      : context_(&context),
        pass_(pass),
        choice_(choose(context, spec, sizes, pass, has_bias)),
        y_(tensor_desc(output_dims(spec), spec.dtype, context.order)),
        bias_apart_(has_bias && pass != Pass::backward_data && !is_fused()) {}

  [[nodiscard]] std::string name() const {
    return cuda::describe(choice_.algorithm) + (is_fused() ? " fused-bias" : "") +
           (bias_apart_ ? "+bias" : "");
  }

  [[nodiscard]] std::size_t scratch_bytes() const {
    return sum_bytes() + choice_.algorithm.workspace_bytes;
  }

  void run(const ProductMemory& memory, std::byte* scratch) const {
    choice_.product.run(choice_.algorithm, memory, scratch + sum_bytes());
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
  [[nodiscard]] bool is_fused() const {
    return choice_.product.problem().epilogue != Epilogue::none;
  }
  [[nodiscard]] std::size_t sum_bytes() const {
    return bias_apart_ && pass_ == Pass::backward_filter
               ? aligned(bias_gradient_scratch(*context_, y_))
               : 0;
  }

  const Context* context_;
  Pass pass_;
  Choice choice_;
  TensorDesc y_;
  bool bias_apart_;
};

class FullyConnectedOperation final : public Operation {
 public:
  FullyConnectedOperation(const Context& context, const OperationSpec& spec, const Sizes& sizes,
                          bool has_bias)
      : output_(tensor_desc(output_dims(spec), spec.dtype, context.order)),
        forward_(context, spec, sizes, Pass::forward, has_bias),
        backward_data_(context, spec, sizes, Pass::backward_data, has_bias),
        backward_filter_(context, spec, sizes, Pass::backward_filter, has_bias) {
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
  return std::make_unique<FullyConnectedOperation>(context, spec, sizes, kind.bias);
}

}  // namespace dlscale::backend::cuda
