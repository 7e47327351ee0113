#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/remedy.hpp"
#include "core/results/measurement.hpp"
#include "model/roofline/fit/choice_judge.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"

namespace dlscale::report {

/// Evidence on choices beyond times, from results of bench conv. It lists the questions that they
/// answer completely. It also counts the steps that run each kernel in one iteration of each of
/// their networks, as configured now. Networks that can no longer be read do not count.
model::ChoiceEvidence choice_evidence(std::span<const ResultFile> results);

/// Whether a convolution was measured by an algorithm requested by name: the rows that `bench conv
/// --algorithms` adds to those of training runs.
bool names_algorithm(const Measurement& measurement);

/// Whether any of the results names an algorithm.
bool compares_algorithms(std::span<const ResultFile> results);

/// The processor of all results. Requires at least one; throws ConfigError if they come from two
/// hosts.
std::string processor_of(std::span<const ResultFile> results);

/// Measured convolutions under the measured ceilings.
class KernelStudy {
 public:
  /// Never throws ConfigError: obstacle() says why the roofline is missing, in this wording.
  explicit KernelStudy(std::span<const ResultFile> results, const Wording& wording = message_of);
  KernelStudy(const KernelStudy&) = delete;  // placed() points into it
  KernelStudy& operator=(const KernelStudy&) = delete;
  KernelStudy(KernelStudy&&) = delete;
  KernelStudy& operator=(KernelStudy&&) = delete;
  ~KernelStudy() = default;

  [[nodiscard]] const std::optional<model::HierarchicalRoofline>& roofline() const {
    return roofline_;
  }
  /// Kernels with the most common number of threads; empty without a roofline.
  [[nodiscard]] std::span<const model::PlacedKernel> placed() const { return placed_; }
  /// One sentence; empty if there is a roofline.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }
  /// The share of the measured roofline that a measured convolution reached; empty if unknown.
  [[nodiscard]] std::optional<double> share(const Measurement& measurement) const;
  /// Operations and bytes of the algorithm, as its row says. For a direct convolution on the
  /// processor this version counts them anew, since earlier rows include taps on the padding.
  [[nodiscard]] std::optional<Work> executed(const Measurement& measurement) const;

 private:
  void find_roofline(std::span<const ResultFile> results);
  void place_all();
  std::map<std::vector<std::string>, Work> executed_;  ///< for direct convolutions
  std::vector<model::KernelSample> samples_;
  std::optional<model::HierarchicalRoofline> roofline_;
  std::vector<model::PlacedKernel> placed_;
  std::map<std::vector<std::string>, Seconds> bounds_;  ///< by kernel and algorithm
  std::string obstacle_;
};

}  // namespace dlscale::report
