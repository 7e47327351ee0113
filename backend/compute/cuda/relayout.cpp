#include "backend/compute/cuda/relayout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Whether a tensor is the same in both orders: it has one channel, or one pixel.
bool same_in_both_orders(const Dims& dims) {
  return dims[1] == 1 || (dims[2] == 1 && dims[3] == 1);
}

void expect_plain_input(const OperationSpec& spec, const TensorDesc& input) {
  if (input.layout.name == "nchw" || input.layout.name == "nhwc") return;
  throw Unsupported(
      fmt::format("{}: layout {} of an input is another device's (cuda has nchw and nhwc). Copy to "
                  "a plain tensor first.",
                  describe(spec), input.layout.name));
}

/// An input in the other order.
struct Stray {
  std::size_t index;
  TensorDesc given;
  TensorDesc wanted;
  std::size_t offset;  ///< in the scratch
};

class Relayout final : public Operation {
 public:
  Relayout(const Context& context, const OperationSpec& spec, std::vector<Stray> strays,
           std::size_t stray_bytes, std::unique_ptr<Operation> inner)
      : context_(&context),
        kind_(spec.layer.kind),
        wanted_(spec.inputs),
        strays_(std::move(strays)),
        stray_bytes_(stray_bytes),
        inner_(std::move(inner)),
        inputs_(spec.inputs.size()),
        input_gradients_(spec.inputs.size()) {}

  [[nodiscard]] const TensorDesc& output() const override { return inner_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return inner_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return inner_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return with_strays(inner_->scratch_bytes());
  }
  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    return with_strays(inner_->pass_scratch_bytes(pass));
  }
  [[nodiscard]] bool has(Pass pass) const override { return inner_->has(pass); }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    std::string inner = inner_->implementation(pass);
    if (strays_.empty()) return inner;
    const std::string before = reads_inputs(kind_, pass) ? "reorder+" : "";
    return before + inner + (pass == Pass::backward_data ? "+reorder" : "");
  }

  [[nodiscard]] bool reorders_activations(Pass pass) const override {
    return !strays_.empty() && (reads_inputs(kind_, pass) || pass == Pass::backward_data);
  }

  void run(Pass pass, const Operands& operands) override {
    select_device(context_->device);
    if (strays_.empty()) return inner_->run(pass, relabelled(operands));
    std::byte* const scratch = first_aligned(operands.scratch);
    Operands inside = relabelled(operands);
    inside.scratch = scratch + stray_bytes_;
    for (const Stray& stray : strays_) {
      std::byte* const place = scratch + stray.offset;
      if (!operands.inputs.empty()) inputs_[stray.index] = {stray.wanted, place};
      if (stray.index < operands.input_gradients.size()) {
        input_gradients_[stray.index] = {stray.wanted, place + aligned(stray.wanted.layout.bytes)};
      }
      if (!reads_inputs(kind_, pass)) continue;
      convert(context_->stream, operands.inputs[stray.index], inputs_[stray.index]);
    }
    inner_->run(pass, inside);
    if (pass != Pass::backward_data) return;
    for (const Stray& stray : strays_) {  // a sum has one gradient for all inputs
      if (stray.index >= operands.input_gradients.size()) continue;
      convert(context_->stream, input_gradients_[stray.index],
              operands.input_gradients[stray.index]);
    }
  }

 private:
  /// Scratch of `bytes` after the copies of the inputs.
  [[nodiscard]] std::size_t with_strays(std::size_t bytes) const {
    return stray_bytes_ + bytes + (strays_.empty() ? 0 : scratch_alignment);
  }

  /// Renames layouts that are the same in both orders to the wanted one.
  Operands relabelled(const Operands& operands) {
    const auto rename = [this](std::span<const Tensor> given, std::vector<Tensor>& renamed) {
      for (std::size_t i = 0; i < given.size(); ++i) renamed[i] = {wanted_[i], given[i].data};
      return std::span<const Tensor>(renamed).first(given.size());
    };
    Operands inside = operands;
    inside.inputs = rename(operands.inputs, inputs_);
    inside.input_gradients = rename(operands.input_gradients, input_gradients_);
    return inside;
  }

  const Context* context_;
  LayerKind kind_;
  std::vector<TensorDesc> wanted_;
  std::vector<Stray> strays_;
  std::size_t stray_bytes_;
  std::unique_ptr<Operation> inner_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> input_gradients_;
};

/// The spec with all inputs in `order`.
OperationSpec in_order(OperationSpec spec, Order order) {
  for (TensorDesc& input : spec.inputs) input = tensor_desc(input.dims, input.dtype, order);
  return spec;
}

}  // namespace

bool reads_inputs(const LayerKind& kind, Pass pass) {
  if (pass != Pass::backward_data) return true;
  const bool linear = std::holds_alternative<Convolution>(kind) ||
                      std::holds_alternative<FullyConnected>(kind) ||
                      std::holds_alternative<Concat>(kind) || std::holds_alternative<Sum>(kind) ||
                      std::holds_alternative<Dropout>(kind);
  return !linear;
}

std::unique_ptr<Operation> in_device_order(
    const Context& context, const OperationSpec& spec,
    const std::function<std::unique_ptr<Operation>(const OperationSpec&)>& make) {
  const OperationSpec inner = in_order(spec, context.order);
  std::vector<Stray> strays;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const TensorDesc& given = spec.inputs[i];
    expect_plain_input(spec, given);
    if (order_of(given) == context.order || same_in_both_orders(given.dims)) continue;
    strays.push_back({i, given, inner.inputs[i], bytes});
    bytes += 2 * aligned(inner.inputs[i].layout.bytes);  // the input and its gradient
  }
  auto made = make(inner);
  return std::make_unique<Relayout>(context, inner, std::move(strays), bytes, std::move(made));
}

}  // namespace dlscale::backend::cuda
