#pragma once
#include <map>
#include <string>

#include "model/published/scaling/fit/domain.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// Parameters with the errors that they make.
struct Fit {
  Parameters parameters = {};
  ErrorModel errors = {};
  FitDomain domain = {};
  bool operator==(const Fit&) const = default;
};

/// The model of scaling, fitted: to all sets, and for each set to all others, so that no set is
/// ever predicted by what was measured of it.
struct FittedScaling {
  Fit all = {};
  std::map<std::string, Fit> without = {};  ///< by the set that was left out
  /// The one for cases of a set: that without it, where it was fitted to.
  [[nodiscard]] const Fit& of(const std::string& set) const;
  bool operator==(const FittedScaling&) const = default;
};

}  // namespace dlscale::model::scaling
