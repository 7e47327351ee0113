#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/alignment.hpp"

namespace dlscale::backend::cuda {

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

}  // namespace dlscale::backend::cuda
