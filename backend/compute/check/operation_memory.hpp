#pragma once
#include <vector>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// All the memory that one operation works on, zeroed, for checks and measurements of a single
/// operation. `device` must outlive it.
class OperationMemory {
 public:
  OperationMemory(ComputeDevice& device, const OperationSpec& spec, const Operation& operation);

  [[nodiscard]] const std::vector<Tensor>& inputs() const { return inputs_; }
  [[nodiscard]] const Tensor& output() const { return output_; }
  [[nodiscard]] const Tensor& output_gradient() const { return output_gradient_; }
  [[nodiscard]] const std::vector<Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] const std::vector<Tensor>& input_gradients() const { return input_gradients_; }
  [[nodiscard]] const std::vector<Tensor>& parameter_gradients() const {
    return parameter_gradients_;
  }
  /// One class per image, all 0 at first.
  [[nodiscard]] std::vector<std::int32_t>& labels() { return labels_; }

  /// The operands refer to this object and are valid as long as it is. `weights_version`: see
  /// Operands.
  [[nodiscard]] Operands operands(std::uint64_t seed, std::uint64_t weights_version = 0) const;

 private:
  Tensor allocate(const TensorDesc& desc);
  std::byte* allocate(std::size_t bytes);

  ComputeDevice* device_;
  std::vector<Buffer> buffers_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> input_gradients_;
  std::vector<Tensor> parameter_gradients_;
  Tensor output_;
  Tensor output_gradient_;
  std::byte* state_;
  std::byte* scratch_;
  std::byte* kept_;  ///< null where nothing is kept
  std::vector<std::int32_t> labels_;
};

}  // namespace dlscale::backend
