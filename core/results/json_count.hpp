#pragma once
#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {

/// A whole number, 0 or more, from a value of nlohmann::json or ordered_json, which may write it as
/// 3 or 3.0. Throws ConfigError with `name` and the value if it is something else or too large. The
/// library converts any number, also those for which the conversion is undefined.
template <std::integral Number, class Json>
Number json_count(const Json& value, const char* name) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  if (value.is_number_unsigned()) {
    const auto count = value.template get<std::uint64_t>();
    if (count <= most) return static_cast<Number>(count);
  } else if (value.is_number()) {
    constexpr double most_exact = 9007199254740992.0;  // 2^53
    const auto count = value.template get<double>();
    const bool is_whole = count >= 0 && count <= most_exact && count == std::floor(count);
    if (is_whole && static_cast<std::uint64_t>(count) <= most) return static_cast<Number>(count);
  }
  const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  throw ConfigError(
      fmt::format("\"{}\" is {}, which is not a count", name, escape_for_terminal(text)));
}

}  // namespace dlscale
