#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/onednn/compat.hpp"
#include "backend/compute/onednn/layout.hpp"
#include "backend/compute/onednn/pass_plan.hpp"
#include "backend/compute/specification.hpp"

namespace dlscale::backend::onednn_device {

/// An operation of this device under construction, which the code for each kind of layer completes.
class Assembly {
 public:
  Assembly(const Context& context, const OperationSpec& spec);

  [[nodiscard]] const OperationSpec& spec() const { return spec_; }
  [[nodiscard]] const dnnl::engine& engine() const { return context_->engine; }
  /// Operation that follows within the layer: Layer::relu.
  [[nodiscard]] Then then() const { return spec_.layer.relu ? Then::relu : Then::nothing; }
  /// Type of activations and weights.
  [[nodiscard]] DataType type() const { return data_type(spec_.dtype); }

  void set_output(const Desc& desc);
  /// The gradient gets the order of the value, in f32.
  void add_parameter(ParameterRole role, Dims dims, const Desc& value);
  Endpoint add_state(const Desc& desc);
  /// Starts a pass. The reference stays valid.
  PassPlan& plan(Pass pass);

  [[nodiscard]] Endpoint input(std::size_t i = 0) const;
  [[nodiscard]] Endpoint input_gradient(std::size_t i = 0) const;
  [[nodiscard]] Endpoint output() const;
  [[nodiscard]] Endpoint output_gradient() const;
  [[nodiscard]] Endpoint parameter(std::size_t i) const;
  [[nodiscard]] Endpoint parameter_gradient(std::size_t i) const;

  [[nodiscard]] std::unique_ptr<Operation> finish() &&;

 private:
  friend class PlannedOperation;
  const Context* context_;
  OperationSpec spec_;
  TensorDesc output_;
  std::vector<Parameter> parameters_;
  std::size_t state_bytes_ = 0;
  std::array<std::optional<PassPlan>, 3> plans_;
};

// Assemblers of the kinds of layers. All throw dnnl::error.

/// Methods of a convolution, indexed by Pass.
using ConvolutionMethods = std::array<ConvolutionMethod, 3>;
constexpr ConvolutionMethods all_direct{direct, direct, direct};

void assemble_convolution(Assembly& assembly, const Convolution& kind,
                          const ConvolutionMethods& methods = all_direct);
void assemble_pooling(Assembly& assembly, const Pooling& kind);
void assemble_relu(Assembly& assembly);
void assemble_lrn(Assembly& assembly, const Lrn& kind);
void assemble_batch_norm(Assembly& assembly, const BatchNorm& kind);
void assemble_fully_connected(Assembly& assembly, const FullyConnected& kind);
void assemble_dropout(Assembly& assembly, const Dropout& kind);
void assemble_concat(Assembly& assembly);
void assemble_sum(Assembly& assembly);
void assemble_loss(Assembly& assembly, const SoftmaxCrossEntropy& kind);

/// Appends the backward pass of a ReLU to `plan`. It writes the output's gradient, set to zero
/// where the output is not positive, into `gradient`, which may be the output's own. Call
/// set_output() before.
void add_relu_backward(Assembly& assembly, PassPlan& plan, const Endpoint& gradient);

/// Whether `primitive` is a slow implementation on which the library falls back.
bool is_fallback(const dnnl::primitive_desc_base& primitive);

}  // namespace dlscale::backend::onednn_device
