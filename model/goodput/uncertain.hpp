#pragma once

namespace dlscale::model::goodput {

/// Ends of a 90 % interval of a normal number, in standard deviations.
inline constexpr double quantile_of_95 = 1.6449;

/// A number with its 90 % interval, low ≤ value ≤ high. Both ends are the value where nothing is
/// uncertain.
struct Uncertain {
  double value = 0;
  double low = 0;
  double high = 0;
  /// A number that is known.
  static constexpr Uncertain exactly(double known) { return {known, known, known}; }
  constexpr bool operator==(const Uncertain&) const = default;
};

}  // namespace dlscale::model::goodput
