#pragma once
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::model {

/// What the code makes of a row of checks_table.hpp: where each of its numbers must lie, in the
/// order in which the row has them; or the whole of what it must say.
struct Computed {
  struct Range {
    double low;
    double high;
  };
  std::vector<Range> numbers = {};
  std::string word = {};
};

inline Computed::Range within(double low, double high) {
  return {low, high};
}
/// `value` of the code, to a rounding of the row or a difference that is known.
inline Computed::Range near(double value, double absolute) {
  return {value - absolute, value + absolute};
}
inline Computed::Range near_by(double value, double relative) {
  return {value * (1 - relative), value * (1 + relative)};
}
/// A number of the row that is no result of ours, such as that of other hardware beside it.
inline Computed::Range not_computed() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {-infinity, infinity};
}

/// From the numbers of the row, of which a computation may take one to foretell another.
using Rule = std::function<Computed(const std::vector<double>& row)>;
using Rules = std::map<std::string, Rule, std::less<>>;

Rules iteration_rules();  ///< sections 1 and 2
Rules message_rules();    ///< section 3
Rules training_rules();   ///< sections 9 to 11

/// The numbers of a text, "16.0 ms; 1e-3 (6)".
std::vector<double> numbers_in(std::string_view text);

/// Of a row by its id; those of one may foretell another.
std::vector<double> row_of(std::string_view id);

}  // namespace dlscale::model
