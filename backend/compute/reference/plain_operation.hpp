#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/specification.hpp"

/// The specification of every operation: plain loops over dense NCHW tensors of f32, sums in
/// double. Operations keep no state and need no scratch: backward recomputes what it needs.
namespace dlscale::backend::reference_loops {

/// The only layout of this device: dense, row-major.
TensorDesc plain_desc(Dims dims);

/// Code that all operations share, including the ReLU of layers with a fused one. A kind overrides
/// the passes it has.
class PlainOperation : public Operation {
 public:
  [[nodiscard]] const TensorDesc& output() const final { return output_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const final { return parameters_; }
  [[nodiscard]] std::size_t state_bytes() const final { return 0; }
  [[nodiscard]] std::size_t scratch_bytes() const final { return 0; }
  [[nodiscard]] bool has(Pass pass) const override;
  [[nodiscard]] std::string implementation(Pass pass) const final;
  void run(Pass pass, const Operands& operands) final;

 protected:
  explicit PlainOperation(const OperationSpec& spec)
      : output_(plain_desc(output_dims(spec))), relu_(spec.layer.relu) {}
  void add_parameter(ParameterRole role, Dims dims);

 private:
  virtual void forward(const Operands& operands) const = 0;
  virtual void backward_data(const Operands& operands) const;
  virtual void backward_filter(const Operands& operands) const;

  void rectify(const Tensor& output) const;
  void mask_gradient(const Operands& operands) const;

  TensorDesc output_;
  bool relu_;
  std::vector<Parameter> parameters_;
};

std::unique_ptr<Operation> make_convolution(const OperationSpec& spec, const Convolution& kind);
std::unique_ptr<Operation> make_pooling(const OperationSpec& spec, const Pooling& kind);
std::unique_ptr<Operation> make_relu(const OperationSpec& spec);
std::unique_ptr<Operation> make_lrn(const OperationSpec& spec, const Lrn& kind);
std::unique_ptr<Operation> make_batch_norm(const OperationSpec& spec, const BatchNorm& kind);
std::unique_ptr<Operation> make_fully_connected(const OperationSpec& spec,
                                                const FullyConnected& kind);
std::unique_ptr<Operation> make_dropout(const OperationSpec& spec, const Dropout& kind);
std::unique_ptr<Operation> make_concat(const OperationSpec& spec);
std::unique_ptr<Operation> make_sum(const OperationSpec& spec);
std::unique_ptr<Operation> make_loss(const OperationSpec& spec, const SoftmaxCrossEntropy& kind);

}  // namespace dlscale::backend::reference_loops
