#pragma once
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// An axis that has an effect on some operations of a benchmark only.
struct AxisOfOperations {
  std::string_view name;
  std::vector<std::string_view> operations;
};

/// Throws ConfigError if an axis was named and none of the operations asked for has it.
void refuse_axes_without_effect(const Context& context, const std::vector<AxisOfOperations>& axes);

}  // namespace dlscale::bench
