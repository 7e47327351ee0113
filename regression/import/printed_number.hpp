#pragma once
#include <string_view>

namespace dlscale::regression::history {

/// A finite number as a program printed it, also with an exponent (1.67772e+07). Throws ConfigError
/// that names the column for anything else.
double printed_number(std::string_view word, std::string_view column);

/// Half the unit of the last digit of such a number: 0.005 of "34.05", 50 of "1.677e+05".
double printed_rounding(std::string_view word);

}  // namespace dlscale::regression::history
