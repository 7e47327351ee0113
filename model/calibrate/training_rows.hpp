#pragma once
#include <set>
#include <string>

#include "core/results/measurement.hpp"
#include "core/results/usable_rows.hpp"

namespace dlscale::model {

/// Selects the rows of messages that represent those of training. These are rows sent as in
/// training. For a collective without rows out of place, also rows of the host's memory in place,
/// which earlier versions measured by default.
class TrainingRows {
 public:
  /// Notes one of all rows. Call it for every row before the queries.
  void note(const Measurement& row) {
    if (is_timed(row) && is_like_training(row)) measured_.insert(collective_of(row));
  }

  /// Whether a row in place is used because none out of place exists.
  [[nodiscard]] bool stands_in(const Measurement& row) const {
    return is_in_place_for_want_of_choice(row) && !measured_.contains(collective_of(row));
  }

  /// Whether a row of the library represents training.
  [[nodiscard]] bool serves(const Measurement& row) const {
    return is_sent_as_in_training(stands_in(row) ? without(row, "in_place") : row);
  }

  /// Whether a row of the library, or of one of our own algorithms, represents training.
  [[nodiscard]] bool serves_by_any_algorithm(const Measurement& row) const {
    return is_like_training(stands_in(row) ? without(row, "in_place") : row);
  }

 private:
  static bool is_like_training(const Measurement& row) {
    return is_sent_as_in_training(without(row, "algorithm"));
  }

  /// A copy with the axes alone, without one of them.
  static Measurement without(const Measurement& row, const char* axis) {
    Measurement bare;
    bare.axes = row.axes;
    bare.axes.erase(axis);
    return bare;
  }

  static std::string collective_of(const Measurement& row) {
    const auto found = row.axes.find("collective");
    return found == row.axes.end() ? "" : found->second;
  }

  std::set<std::string> measured_;  ///< collectives with rows sent as in training
};

}  // namespace dlscale::model
