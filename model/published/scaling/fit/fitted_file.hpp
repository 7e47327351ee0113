#pragma once
#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

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

/// A fitted model of scaling and its origin (docs/explanation/scaling.md).
struct ScalingFile {
  FittedScaling fitted = {};
  std::string cases = {};                        ///< name of the case file, in words
  std::string build = {};                        ///< commit of the program that fitted
  std::map<std::string, std::size_t> sets = {};  ///< number of fitted trainings, by set
  bool operator==(const ScalingFile&) const = default;
};

/// The name of the default model, configs/models/scaling.yaml.
inline constexpr std::string_view usual_scaling = "scaling";

/// Reads configs/models/<name>.yaml, or the file `name` if it has a slash or ends in .yaml. Throws
/// ConfigError that names file, place and remedy. Reasons are an unknown or missing key or
/// parameter, a number that is not finite or out of range, and a left-out set that was not fitted
/// to.
ScalingFile load_scaling(std::string_view name);

/// The text of such a file: YAML that reads back as the same numbers, with comments.
std::string scaling_text(const ScalingFile& file);

/// Whether the content is such a file, according to its first line.
bool opens_as_scaling(std::istream& content);

}  // namespace dlscale::model::scaling
