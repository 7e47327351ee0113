#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "backend/compute/check/filter_sample.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// Everything that one pass of an operation reads in a check, in plain order.
struct CheckData {
  using Values = FilterSample::Values;
  std::vector<Values> inputs;
  std::vector<Values> parameters;
  Values output_gradient;
  std::vector<std::int32_t> labels;
  /// What forward is taken to have put out, where a ReLU's backward depends on its signs; empty:
  /// what it does.
  Values output;
};

/// Nearly normal numbers, which `seed` tells, rounded to the precision of the operation.
CheckData make_check_data(const OperationSpec& spec, const Operation& operation,
                          std::uint64_t seed);

/// The images of a batch that are compared, in order.
using ChosenImages = std::array<int, 3>;

/// The first, the last, and one between them. Requires n ≥ 3.
ChosenImages choose_images(int n, std::uint64_t seed);

/// The chosen ones of n images.
CheckData::Values keep(const CheckData::Values& values, int n, const ChosenImages& chosen);

/// Sets the others of n images to zero.
void clear_all_but(const ChosenImages& chosen, CheckData::Values& values, int n);

/// Of the chosen images alone.
CheckData reduce(const CheckData& data, int batch, const ChosenImages& chosen);

/// What backward_filter reads for the filters of a sample alone. Where a ReLU lets nothing through
/// the gradient is zero. `parameters`: of the operation.
CheckData reduce(const CheckData& data, const FilterSample& sample, int batch,
                 const std::vector<Parameter>& parameters);

}  // namespace dlscale::backend
