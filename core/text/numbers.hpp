#pragma once
#include <optional>
#include <string>

#include "core/base/units.hpp"

namespace dlscale {

/// Fixed notation with `digits` significant digits: 1234, 12.3, 0.00123. At most 9 decimals.
std::string significant(double value, int digits);

/// Four significant digits, for columns whose heading says "ms".
std::string milliseconds(Seconds time);

/// Four significant digits of a rate in units of 1e9 per second, for columns whose heading says
/// "GFLOP/s" or "GB/s"; empty without a rate.
template <class Rate>
std::string giga(const std::optional<Rate>& rate) {
  return rate ? significant(rate->si() * 1e-9, 4) : "";
}
inline std::string giga(FlopsPerSecond rate) {
  return giga(std::optional(rate));
}

/// A fraction as "3.2 %"; with a sign, "+3.2 %", for errors.
std::string percent(double fraction);
std::string signed_percent(double fraction);

/// Two significant digits and a power of ten, "1.2e-06", for errors.
std::string scientific(double value);

/// The shortest decimal that reads back as the same double, for CSV. Requires a finite value.
std::string exact(double value);

/// "140,000".
std::string grouped(long long count);

/// "1 rank", "2 ranks".
std::string counted(long long count, const std::string& noun);

}  // namespace dlscale
