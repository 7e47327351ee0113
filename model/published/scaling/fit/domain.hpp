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

/// The least and the most of something among trainings that were fitted, both > 0.
struct FittedRange {
  double least = 0;
  double most = 0;
  bool operator==(const FittedRange&) const = default;
};

/// Hardware that a training has or has not, and of which it says how fast.
struct HardwareKind {
  std::string_view name;   ///< key of model files: "tcp"
  std::string_view words;  ///< "TCP between nodes"
  std::string_view unit;   ///< "GB/s"
  double scale;            ///< of the unit in SI
  double beyond;           ///< ≥ 1: by what factor a range may be left and count as met
};

/// Which is which, in the order of hardware_kinds().
enum class Hardware : std::size_t { pcie, nvlink, tcp, rdma, memory, year };
inline constexpr std::size_t hardware_count = 6;
std::span<const HardwareKind, hardware_count> hardware_kinds();

/// How far trainings that were fitted reach; beyond that a prediction is outside its domain.
struct FitDomain {
  int gpus = 1;            ///< ≥ 1: the most that were asked for
  int given_gpus = 1;      ///< ≥ 1: the most of a given point
  double least_batch = 1;  ///< in (0, 1]: of a GPU, over that of the given point
  double most_batch = 1;   ///< ≥ 1: likewise
  /// Nominal rates of the links that were used in bytes a second, of a GPU's memory, and the years
  /// of GPUs; nothing of a kind that no training had.
  std::array<std::optional<FittedRange>, hardware_count> hardware = {};
  /// Reaches as far as this training, too.
  void take(const TrainingFacts& facts);
  bool operator==(const FitDomain&) const = default;
};

/// In what a training is unlike all that were fitted to, a clause each: beyond the domain of the
/// fit, of fewer GPUs than the given point, or with facts that had to be guessed.
std::vector<std::string> outside(const TrainingFacts& facts, const FitDomain& domain);

}  // namespace dlscale::model::scaling
