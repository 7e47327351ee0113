#pragma once
#include <string_view>

#include "core/measurement.hpp"

/// What makes a row of a result file one that models and reports can use.
namespace dlscale {

/// Whether it has times: samples were taken, be they unstable.
bool is_timed(const Measurement& measurement);

/// The axis "values" of the numbers that training computes with.
inline constexpr std::string_view normal_values = "normal";
/// Whether it was measured with such; results of earlier versions were, and have no such axis.
bool has_normal_values(const Measurement& measurement);

}  // namespace dlscale
