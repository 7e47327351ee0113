#pragma once
#include <string>

namespace dlscale::regression {

/// A value as a text prints it, and half the unit of its last digit (0: all digits).
struct PrintedValue {
  double value = 0;
  double rounding = 0;
};

/// How far a logarithm may be from what it was before rounding.
struct LogRounding {
  double up = 0;    ///< how much larger it may have been
  double down = 0;  ///< how much smaller
};

///   up = ln(1 + h / x), down = −ln(1 − h / x)     x: the value, h: half the unit
///
/// These bounds hold for a median or a minimum of rounded values, too: repetitions that are rounded
/// alike do not average it out. A value that rounding may have made of nearly 0 says little; its
/// logarithm stays finite.
LogRounding log_rounding(const PrintedValue& printed);

/// The same for ln(b / a).
LogRounding log_rounding_of_ratio(const PrintedValue& a, const PrintedValue& b);

/// The least relative change between two values that print differently whatever was rounded.
double smallest_printed_change(const PrintedValue& seconds);

/// "printed to 1 ns, so changes below 50 % cannot be seen".
std::string rounding_words(const PrintedValue& seconds);

}  // namespace dlscale::regression
