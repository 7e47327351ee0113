#pragma once
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

struct Context;

/// Base of operations that run layers without weights by cuDNN: forward and backward_data, with
/// state and scratch that begin on a multiple of 256 bytes.
class LayerOperation : public Operation {
 public:
  [[nodiscard]] const TensorDesc& output() const final { return output_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const final { return parameters_; }
  [[nodiscard]] std::size_t state_bytes() const final { return with_alignment(state_bytes_); }
  [[nodiscard]] std::size_t scratch_bytes() const final { return with_alignment(scratch_bytes_); }
  [[nodiscard]] bool has(Pass pass) const final {
    return pass == Pass::forward || pass == Pass::backward_data;
  }

 protected:
  explicit LayerOperation(TensorDesc output) : output_(std::move(output)) {}
  void set_parameters(std::vector<Parameter> parameters) { parameters_ = std::move(parameters); }
  void set_state(std::size_t bytes) { state_bytes_ = bytes; }
  void set_scratch(std::size_t bytes) { scratch_bytes_ = bytes; }
  /// First aligned address in state or scratch.
  [[nodiscard]] static std::byte* begin(std::byte* memory) { return first_aligned(memory); }

 private:
  static std::size_t with_alignment(std::size_t bytes) {
    return bytes == 0 ? 0 : bytes + scratch_alignment;
  }

  TensorDesc output_;
  std::vector<Parameter> parameters_;
  std::size_t state_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;
};

/// Whether cuDNN runs the layer by a function older than its graphs, which it has not deprecated.
/// No engine takes a whole softmax as a graph, and LRN has no graphs.
bool has_function(const LayerKind& kind);

/// The layer by such a function. All inputs of `spec` have the order of `context`. Throws
/// Unsupported where cuDNN does not offer the layer, possibly only when it runs.
std::unique_ptr<Operation> make_function_operation(const Context& context,
                                                   const OperationSpec& spec);

/// Makers by kind; see make_function_operation(). Softmax: cudnnSoftmaxForward with our kernels
/// around it.
std::unique_ptr<Operation> make_softmax_loss(const Context& context, const OperationSpec& spec,
                                             const SoftmaxCrossEntropy& kind);
/// LRN: cudnnLRNCrossChannelForward and …Backward.
std::unique_ptr<Operation> make_cudnn_lrn(const Context& context, const OperationSpec& spec,
                                          const Lrn& kind);

}  // namespace dlscale::backend::cuda
