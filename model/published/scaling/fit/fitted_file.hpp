#pragma once
#include <array>
#include <cstddef>
#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/interval.hpp"
#include "model/published/scaling/time/parameters.hpp"

namespace dlscale::model::scaling {

/// The range of a quantity among fitted trainings; both ends are > 0.
struct FittedRange {
  double least = 0;
  double most = 0;
  bool operator==(const FittedRange&) const = default;
};

/// A kind of hardware that a training may use, with a rate.
struct HardwareKind {
  std::string_view name;   ///< key of model files: "tcp"
  std::string_view words;  ///< "TCP between nodes"
  std::string_view unit;   ///< "GB/s"
  double scale;            ///< the unit in SI
  /// ≥ 1: factor by which a value may leave the range and still count as inside.
  double beyond;
};

/// The kinds in the order of hardware_kinds().
enum class Hardware : std::size_t {
  pcie,
  nvlink,
  tcp,
  rdma,
  memory,
  year,
  server_tcp,  ///< in place of tcp if servers keep parameters
  server_rdma
};
inline constexpr std::size_t hardware_count = 8;
std::span<const HardwareKind, hardware_count> hardware_kinds();

/// The range of the fitted trainings. A prediction beyond is outside the domain.
struct FitDomain {
  int gpus = 1;            ///< ≥ 1: the most GPUs to predict for
  int given_gpus = 1;      ///< ≥ 1: the most GPUs of a given point
  double least_batch = 1;  ///< in (0, 1]: batch of a GPU over that of the given point
  double most_batch = 1;   ///< ≥ 1: batch of a GPU over that of the given point
  /// Nominal rates of the links used, in bytes a second, of a GPU's memory, and the years of GPUs.
  /// Empty for a kind that no training had.
  std::array<std::optional<FittedRange>, hardware_count> hardware = {};
  std::set<std::string> frameworks = {};  ///< names of profiles, FrameworkTraits::family
  /// Extends the domain to this training.
  void take(const TrainingFacts& facts);
  bool operator==(const FitDomain&) const = default;
};

/// The differences of a training from all fitted ones, a clause each. It may be beyond the domain
/// of the fit, have fewer GPUs than the given point, or need guessed facts.
std::vector<std::string> outside(const TrainingFacts& facts, const FitDomain& domain);

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
