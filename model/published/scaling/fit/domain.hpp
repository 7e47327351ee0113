#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/published/scaling/facts/facts.hpp"

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
enum class Hardware : std::size_t { pcie, nvlink, tcp, rdma, memory, year };
inline constexpr std::size_t hardware_count = 6;
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
  /// Extends the domain to this training.
  void take(const TrainingFacts& facts);
  bool operator==(const FitDomain&) const = default;
};

/// The differences of a training from all fitted ones, a clause each. It may be beyond the domain
/// of the fit, have fewer GPUs than the given point, or need guessed facts.
std::vector<std::string> outside(const TrainingFacts& facts, const FitDomain& domain);

}  // namespace dlscale::model::scaling
