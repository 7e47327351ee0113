#pragma once
#include <cmath>

namespace dlscale::model {

/// The root of an increasing f within [low, high]; low if f is above 0 there already, high if f is
/// not above 0 even there. It uses regula falsi that halves the value of an end that stays (the
/// Illinois algorithm, M. Dowell & P. Jarratt, BIT 11, 1971), until |f| is at most `enough` ≥ 0.
template <class Function>
double increasing_root(const Function& f, double low, double high, double enough) {
  double f_low = f(low);
  double f_high = f(high);
  if (f_low >= 0) return low;
  if (f_high <= 0) return high;
  int kept = 0;  // the end that stayed in the last round
  for (int round = 0; round < 100; ++round) {
    const double x = (low * f_high - high * f_low) / (f_high - f_low);
    const double value = f(x);
    if (std::abs(value) <= enough) return x;
    if (value < 0) {
      low = x;
      f_low = value;
      if (kept > 0) f_high /= 2;
      kept = 1;
    } else {
      high = x;
      f_high = value;
      if (kept < 0) f_low /= 2;
      kept = -1;
    }
  }
  return 0.5 * (low + high);
}

}  // namespace dlscale::model
