#pragma once
#include <optional>

namespace dlscale::model::goodput {

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
