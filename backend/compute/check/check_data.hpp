#pragma once
#include <array>
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

/// Everything that one pass of an operation reads in a check, in plain order.
struct CheckData {
  using Values = FilterSample::Values;
  std::vector<Values> inputs;
  std::vector<Values> parameters;
  Values output_gradient;
  std::vector<std::int32_t> labels;
  /// Assumed output of forward, where a ReLU's backward depends on its signs; empty: the pass's
  /// own.
  Values output;
};

/// Nearly normal random numbers determined by `seed`, rounded to the precision of the operation.
CheckData make_check_data(const OperationSpec& spec, const Operation& operation,
                          std::uint64_t seed);

/// Indices of the compared images of a batch, in ascending order.
using ChosenImages = std::array<int, 3>;

/// The first, the last, and one between them. Requires n ≥ 3.
ChosenImages choose_images(int n, std::uint64_t seed);

/// Returns the values of the chosen ones of n images.
CheckData::Values keep(const CheckData::Values& values, int n, const ChosenImages& chosen);

/// Sets all but the chosen images of n to zero.
void clear_all_but(const ChosenImages& chosen, CheckData::Values& values, int n);

/// Data of the chosen images alone.
CheckData reduce(const CheckData& data, int batch, const ChosenImages& chosen);

/// Input of backward_filter for the filters of a sample alone. The gradient is zero where a ReLU
/// blocks it. `parameters` are those of the operation.
CheckData reduce(const CheckData& data, const FilterSample& sample, int batch,
                 const std::vector<Parameter>& parameters);

}  // namespace dlscale::backend
