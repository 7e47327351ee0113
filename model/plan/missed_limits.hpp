#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/plan/training_plan.hpp"

namespace dlscale::model {

/// A duration with four significant digits: "12.34 s", "45.6 min", "7.25 h", "3.4 days".
std::string duration_text(Seconds time);

/// The trainings nearest to the limits of a plan, for an error message where none keeps to them.
class MissedLimits {
 public:
  explicit MissedLimits(const PlanQuestion& question) : question_(&question) {}
  void look_at(const PlannedTraining& planned);
  /// The training nearest to the first limit that is missed, to which the caller may add its
  /// interval. nullptr for a limit of memory, ranks or batches, which no interval concerns.
  PlannedTraining* nearest();
  /// One sentence for a question that no training satisfies: the limit, by how much it is missed,
  /// and what to do. `left_out` is what the memory does not hold, `too_few` what needs more ranks.
  [[nodiscard]] std::string sentence(const std::vector<std::string>& left_out,
                                     const std::vector<std::string>& too_few) const;

 private:
  /// The least time or cost, and its training.
  struct Nearest {
    double value = 0;
    PlannedTraining planned;
  };
  static void take(std::optional<Nearest>& nearest, double value, const PlannedTraining& planned);
  [[nodiscard]] std::string too_slow(const Nearest& nearest, bool within_budget) const;
  [[nodiscard]] std::string too_dear(const Nearest& nearest) const;

  const PlanQuestion* question_;
  std::optional<double> smallest_batch_;
  std::optional<Nearest> quickest_;    ///< the fastest within the global batch
  std::optional<Nearest> cheapest_;    ///< the cheapest within the global batch
  std::optional<Nearest> affordable_;  ///< the fastest within the budget
};

}  // namespace dlscale::model
