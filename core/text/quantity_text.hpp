#pragma once
#include <string>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale {

/// Parses quantities: "25 GB/s", "25 Gb/s", "1.5 us", "110 KiB", "11.76 TFLOP/s". GB = 1e9 bytes,
/// GiB = 2^30 bytes, Gb/s counts bits. A number without a unit, a unit of another dimension,
/// trailing text, NaN, infinities and 2^63 bytes or more throw ConfigError. The message starts with
/// `where` (file and path of the value) and ends with an example.
template <class Q>
Q parse_quantity(std::string_view text, std::string_view where);

template <>
Seconds parse_quantity<Seconds>(std::string_view text, std::string_view where);
template <>
Bytes parse_quantity<Bytes>(std::string_view text, std::string_view where);
template <>
BytesPerSecond parse_quantity<BytesPerSecond>(std::string_view text, std::string_view where);
template <>
FlopsPerSecond parse_quantity<FlopsPerSecond>(std::string_view text, std::string_view where);

/// Three or four significant digits with a suitable prefix: "1.234 ms", "97.5 MiB", "12.3 GB/s".
std::string to_text(Seconds value);
std::string to_text(Bytes value);
std::string to_text(BytesPerSecond value);
std::string to_text(FlopsPerSecond value);

}  // namespace dlscale
