#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/plan/training_plan.hpp"

namespace dlscale::model {

/// What comes nearest to the limits of a plan, to say by how much they are missed where nothing
/// keeps to them.
class MissedLimits {
 public:
  explicit MissedLimits(const PlanQuestion& question) : question_(&question) {}
  void look_at(const PlannedTraining& planned);
  /// What comes nearest to the first limit that is missed; nullptr where that is one of memory,
  /// ranks or batches, which no interval concerns. The caller may give it its interval.
  PlannedTraining* nearest();
  /// One sentence: the limit, by how much it is missed, and what to do. `left_out` is what the
  /// memory did not hold, `too_few` what needs more ranks. For a question to which nothing keeps.
  [[nodiscard]] std::string sentence(const std::vector<std::string>& left_out,
                                     const std::vector<std::string>& too_few) const;

 private:
  /// A time or cost, and what has it.
  struct Nearest {
    double value = 0;
    PlannedTraining planned;
  };
  static void take(std::optional<Nearest>& nearest, double value, const PlannedTraining& planned);
  [[nodiscard]] std::string too_slow(const Nearest& nearest, bool within_budget) const;
  [[nodiscard]] std::string too_dear(const Nearest& nearest) const;

  const PlanQuestion* question_;
  std::optional<double> smallest_batch_;
  std::optional<Nearest> quickest_;    ///< within the global batch
  std::optional<Nearest> cheapest_;    ///< likewise
  std::optional<Nearest> affordable_;  ///< the quickest of those within the budget
};

}  // namespace dlscale::model
