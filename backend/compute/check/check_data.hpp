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
