#pragma once
#include <cstdint>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"

namespace dlscale::backend {

/// Some filters of a layer with weights, as a smaller layer that has these alone: the gradient of a
/// filter depends on no channels but the two that it joins, so that for some it can be computed
/// over all images of a large batch.
class FilterSample {
 public:
  using Values = std::vector<float>;
  /// Of groups, and of the outputs and of the inputs of one, that are taken.
  static constexpr std::int64_t most = 4;

  /// Up to four groups, and of each the filters between up to four outputs and four inputs: the
  /// first, the last and others that `seed` chooses. Requires a convolution or a fully connected
  /// layer.
  FilterSample(const Layer& layer, std::uint64_t seed);

  /// Without a ReLU.
  [[nodiscard]] const Layer& layer() const { return sample_; }

  // What belongs to these filters of tensors of the whole layer, in plain order: N × C × H × W,
  // N × K × P × Q, and parameters or their gradients.
  [[nodiscard]] Values inputs(const Values& values, std::int64_t images) const;
  [[nodiscard]] Values outputs(const Values& values, std::int64_t images) const;
  [[nodiscard]] Values parameter(ParameterRole role, const Values& values) const;

 private:
  using Numbers = std::vector<std::int64_t>;
  std::int64_t all_inputs_, all_outputs_;  ///< C and K
  std::int64_t inputs_of_group_;           ///< C / groups
  Numbers inputs_, outputs_;               ///< the chosen, among all
  Numbers inputs_in_group_;                ///< the chosen inputs of a group, the same of each
  Layer sample_;
};

}  // namespace dlscale::backend
