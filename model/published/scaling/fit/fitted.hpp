#pragma once
#include <map>
#include <string>

#include "model/published/scaling/fit/domain.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// Parameters, with the errors of their predictions.
struct Fit {
  Parameters parameters = {};
  ErrorModel errors = {};
  FitDomain domain = {};
  bool operator==(const Fit&) const = default;
};

/// The fitted model of scaling: one fit to all sets, and for each set one to all others. No
/// measurement of a set ever predicts that set.
struct FittedScaling {
  Fit all = {};
  std::map<std::string, Fit> without = {};  ///< by the set that was left out
  /// The fit for cases of a set: the one without it, if it was fitted to.
  [[nodiscard]] const Fit& of(const std::string& set) const;
  bool operator==(const FittedScaling&) const = default;
};

}  // namespace dlscale::model::scaling
