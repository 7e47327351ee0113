#include "bench/memory/axes/axes_of_operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "core/base/error.hpp"

namespace dlscale::bench {

void refuse_axes_without_effect(const Context& context, const std::vector<AxisOfOperations>& axes) {
  const std::vector<std::string> chosen = context.list("operations");
  for (const AxisOfOperations& axis : axes) {
    const bool has_effect = std::ranges::any_of(axis.operations, [&](std::string_view name) {
      return std::ranges::find(chosen, name) != chosen.end();
    });
    if (has_effect || !context.given.contains(std::string(axis.name))) continue;
    throw ConfigError(fmt::format(
        "{} has no effect on --operations {}. Leave it out, or add {} there.",
        option_name(axis.name), context.value("operations"), fmt::join(axis.operations, " or ")));
  }
}

}  // namespace dlscale::bench
