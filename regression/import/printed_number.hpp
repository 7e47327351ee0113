#pragma once
#include <string_view>

namespace dlscale::regression::history {

/// A finite number as a program printed it, also with an exponent (1.67772e+07). Throws ConfigError
/// that names the column for anything else.
double printed_number(std::string_view word, std::string_view column);

}  // namespace dlscale::regression::history
