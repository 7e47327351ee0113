#include "core/cluster/input_rate.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {

std::optional<BytesPerSecond> parse_input_rate(std::string_view text, std::string_view where) {
  std::string_view unit = text;
  const std::size_t end = unit.find_last_of("0123456789.");
  unit.remove_prefix(end == std::string_view::npos ? unit.size() : end + 1);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit != "/s" && unit != "images/s" && unit != "sequences/s" && unit != "samples/s") {
    return std::nullopt;
  }
  const std::string_view number = text.substr(0, end + 1);
  constexpr double most = 1e12;
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc() && stop == number.data() + number.size() && value > 0 && value <= most) {
    return value * picture_size / Seconds(1);
  }
  throw ConfigError(
      fmt::format("{} is \"{}\" (samples a second are a number above 0 and up to {:g}). Write, for "
                  "example, 12000 images/s.",
                  where, escape_for_terminal(text), most));
}

}  // namespace dlscale
