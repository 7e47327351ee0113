#pragma once
#include <set>
#include <string>

#include "core/results/measurement.hpp"
#include "core/results/usable_rows.hpp"

namespace dlscale::model {

/// Which rows of messages serve for those of training: what is sent as there, and blocks of the
/// host's memory in place, as earlier versions measured them unless told otherwise, of collectives
/// of which none was measured out of place.
class TrainingRows {
 public:
  /// One of all the rows that there are, before the others are asked.
  void note(const Measurement& row) {
    if (is_timed(row) && is_like_training(row)) measured_.insert(collective_of(row));
  }

  /// Whether it is in place for want of what is not.
  [[nodiscard]] bool stands_in(const Measurement& row) const {
    return is_in_place_for_want_of_choice(row) && !measured_.contains(collective_of(row));
  }

  /// By the library.
  [[nodiscard]] bool serves(const Measurement& row) const {
    return is_sent_as_in_training(stands_in(row) ? without(row, "in_place") : row);
  }

  /// By the library or by one of our own algorithms.
  [[nodiscard]] bool serves_by_any_algorithm(const Measurement& row) const {
    return is_like_training(stands_in(row) ? without(row, "in_place") : row);
  }

 private:
  static bool is_like_training(const Measurement& row) {
    return is_sent_as_in_training(without(row, "algorithm"));
  }

  /// The axes alone.
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

  std::set<std::string> measured_;  ///< collectives, as training sends them
};

}  // namespace dlscale::model
