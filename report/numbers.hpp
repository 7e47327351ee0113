#pragma once
#include <string>

#include "core/units.hpp"

namespace dlscale::report {

/// Fixed notation with so many significant digits: 1234, 12.3, 0.00123. At most 9 decimals.
std::string significant(double value, int digits);

/// Four significant digits, for columns whose heading says "ms".
std::string milliseconds(Seconds time);

/// A fraction as "3.2 %"; with its sign, "+3.2 %", where it is an error.
std::string percent(double fraction);
std::string signed_percent(double fraction);

/// The shortest decimal that reads back as the same double: for CSV. Requires a finite value.
std::string exact(double value);

/// "1 rank", "2 ranks".
std::string counted(long long count, const std::string& noun);

}  // namespace dlscale::report
