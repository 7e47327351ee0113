#pragma once
#include <cstdint>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"

namespace dlscale::backend {

/// Some filters of a layer with weights, as a smaller layer that has only these. The gradient of a
/// filter depends on two channels only, so a few filters can be checked over all images of a large
/// batch.
class FilterSample {
 public:
  using Values = std::vector<float>;
  /// Most groups in the sample, and most outputs and most inputs of each group.
  static constexpr std::int64_t most = 4;

  /// Samples up to four groups, and of each the filters between up to four outputs and four inputs:
  /// the first, the last and others that `seed` chooses. Requires a convolution or a fully
  /// connected layer.
  FilterSample(const Layer& layer, std::uint64_t seed);

  /// The sampled layer, without a ReLU.
  [[nodiscard]] const Layer& layer() const { return sample_; }

  // Extract the part that belongs to these filters from tensors of the whole layer in plain order:
  // N × C × H × W, N × K × P × Q, and parameters or their gradients.
  [[nodiscard]] Values inputs(const Values& values, std::int64_t images) const;
  [[nodiscard]] Values outputs(const Values& values, std::int64_t images) const;
  [[nodiscard]] Values parameter(ParameterRole role, const Values& values) const;

 private:
  using Numbers = std::vector<std::int64_t>;
  std::int64_t all_inputs_, all_outputs_;  ///< C and K
  std::int64_t inputs_of_group_;           ///< C / groups
  Numbers inputs_, outputs_;               ///< the chosen ones, as indices into all
  /// The chosen inputs of a group; the same in every group.
  Numbers inputs_in_group_;
  Layer sample_;
};

}  // namespace dlscale::backend
