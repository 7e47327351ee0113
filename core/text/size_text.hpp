#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dlscale {

/// Parses an amount of data that holds a whole number of elements of `element` bytes, and at least
/// one. Throws ConfigError as parse_quantity() does. It says whether the amount is too large for
/// any memory, below one element, or no multiple of it. `what` names the elements: "f32".
std::int64_t parse_whole_elements(std::string_view text, std::string_view where,
                                  std::int64_t element, std::string_view what);

/// Refuses a list of an option in which numbers without units come before one with a unit, as in
/// "12,5GB/s" and "4,096KiB", whose commas are no separators. Throws ConfigError.
void refuse_commas_in_numbers(std::string_view option, std::span<const std::string> items);

}  // namespace dlscale
