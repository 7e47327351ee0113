#pragma once
#include "core/config/config_file.hpp"

namespace dlscale::model {

/// A fitted constant with its range and its prior, the median and the standard deviation of the
/// logarithm. Its file says what the range holds: 90 % of the constant's errors, or all fits that
/// leave a set out.
struct FittedConstant {
  double value = 1;  ///< low … high
  double low = 1;
  double high = 1;
  double prior = 1;
  double spread = 1;
};

/// Reads {value, low, high, prior, spread}, all within `range`. Throws ConfigError.
inline FittedConstant read_fitted_constant(const ConfigMap& map, const NumberRange& range) {
  map.allow_only({"value", "low", "high", "prior", "spread"});
  FittedConstant read;
  read.low = map.number("low", range);
  read.value = map.number("value", {read.low, range.most});
  read.high = map.number("high", {read.value, range.most});
  read.prior = map.number("prior", range);
  read.spread = map.number("spread", range);
  return read;
}

}  // namespace dlscale::model
