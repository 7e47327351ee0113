#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"

namespace dlscale::report {

/// A convolution measured by an algorithm that was asked for by its name: what `bench conv
/// --algorithms` adds to what training runs.
bool names_algorithm(const Measurement& measurement);

/// Whether any of the results does.
bool compares_algorithms(std::span<const ResultFile> results);

/// The processor that all results were measured on. Requires at least one; throws ConfigError if
/// they name two hosts.
std::string processor_of(std::span<const ResultFile> results);

/// Convolutions among results under the ceilings that were measured beside them, and how well their
/// times are predicted from each other.
class KernelStudy {
 public:
  /// Never throws ConfigError: where there is no roofline, obstacle() says why, and where no
  /// judgement, judgement_obstacle(). Fitting takes seconds.
  explicit KernelStudy(std::span<const ResultFile> results);
  KernelStudy(const KernelStudy&) = delete;  // placed() points into it
  KernelStudy& operator=(const KernelStudy&) = delete;
  KernelStudy(KernelStudy&&) = delete;
  KernelStudy& operator=(KernelStudy&&) = delete;
  ~KernelStudy() = default;

  [[nodiscard]] const std::optional<model::HierarchicalRoofline>& roofline() const {
    return roofline_;
  }
  /// Those with the number of threads that most were measured with; none without a roofline.
  [[nodiscard]] std::span<const model::PlacedKernel> placed() const { return placed_; }
  /// One sentence; empty where there is a roofline.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }
  /// The share of the measured roofline that a measured convolution reached; nothing where that is
  /// not known.
  [[nodiscard]] std::optional<double> share(const Measurement& measurement) const;
  /// Operations and bytes of the algorithm, as its row says; but of a direct convolution on the
  /// processor as this version counts them: rows of earlier ones count taps on the padding.
  [[nodiscard]] std::optional<Work> executed(const Measurement& measurement) const;

  /// Models fitted to one half of the shapes, judged on the other.
  [[nodiscard]] const std::optional<model::KernelJudgement>& judgement() const {
    return judgement_;
  }
  [[nodiscard]] const std::string& judgement_obstacle() const { return judgement_obstacle_; }
  /// What of the results neither roofline nor models tell of.
  [[nodiscard]] const model::LeftOut& not_modelled() const { return not_modelled_; }
  /// Kernels that the roofline leaves out for being measured with other numbers of threads, for
  /// running on a GPU, and for a state of the caches that no ceiling bounds (model::is_bounded).
  [[nodiscard]] int other_threads() const { return other_threads_; }
  [[nodiscard]] int on_devices() const { return on_devices_; }
  [[nodiscard]] int unbounded() const { return unbounded_; }

 private:
  void judge(std::span<const ResultFile> results);
  void find_roofline(std::span<const ResultFile> results);
  void place_all();
  std::map<std::vector<std::string>, Work> executed_;  ///< of direct ones
  std::vector<model::KernelSample> samples_;
  std::optional<model::HierarchicalRoofline> roofline_;
  std::vector<model::PlacedKernel> placed_;
  std::map<std::vector<std::string>, Seconds> bounds_;  ///< by what is computed, and how
  std::string obstacle_;
  std::optional<model::KernelJudgement> judgement_;
  std::string judgement_obstacle_;
  model::LeftOut not_modelled_;
  int other_threads_ = 0;
  int on_devices_ = 0;
  int unbounded_ = 0;
};

}  // namespace dlscale::report
