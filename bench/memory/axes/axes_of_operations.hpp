#pragma once
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// An axis that affects only some operations of a benchmark.
struct AxisOfOperations {
  std::string_view name;
  std::vector<std::string_view> operations;
};

/// Throws ConfigError if an axis was given and none of the requested operations has it.
void refuse_axes_without_effect(const Context& context, const std::vector<AxisOfOperations>& axes);

}  // namespace dlscale::bench
