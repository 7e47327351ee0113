#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"

namespace dlscale::model {

struct PlannedTraining;
struct PlanQuestion;

/// What comes nearest to the limits of a plan, to say by how much they are missed where nothing
/// keeps to them.
class MissedLimits {
 public:
  explicit MissedLimits(const PlanQuestion& question) : question_(&question) {}
  void look_at(const PlannedTraining& planned);
  /// One sentence: the limit, by how much it is missed, and what to do. `left_out` is what the
  /// memory did not hold, `too_few` what needs more ranks. For a question to which nothing keeps.
  [[nodiscard]] std::string sentence(const std::vector<std::string>& left_out,
                                     const std::vector<std::string>& too_few) const;

 private:
  /// A time or cost, and what has it.
  struct Nearest {
    double value = 0;
    std::string what;
    double epochs = 0;
    double images_per_s = 0;
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
