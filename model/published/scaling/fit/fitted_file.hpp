#pragma once
#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>

#include "model/published/scaling/fit/fitted.hpp"

namespace dlscale::model::scaling {

/// A fitted model of scaling, and what it was made of (docs/SCALING.md).
struct ScalingFile {
  FittedScaling fitted = {};
  std::string cases = {};                        ///< name of the case file, in words
  std::string build = {};                        ///< commit of the program that fitted
  std::map<std::string, std::size_t> sets = {};  ///< trainings that were fitted, by set
  bool operator==(const ScalingFile&) const = default;
};

/// The name of the one that is used where none is named: configs/models/scaling.yaml.
inline constexpr std::string_view usual_scaling = "scaling";

/// Reads configs/models/<name>.yaml, or the file `name` if it has a slash or ends in .yaml. Throws
/// ConfigError that names file, place and what to write: a key or parameter that is not known or is
/// missing, what is no finite number in its range, a set left out that was not fitted to.
ScalingFile load_scaling(std::string_view name);

/// The text of such a file: YAML that reads back as the same numbers, with comments for people.
std::string scaling_text(const ScalingFile& file);

/// Whether the content is such a file, by its first line.
bool opens_as_scaling(std::istream& content);

}  // namespace dlscale::model::scaling
