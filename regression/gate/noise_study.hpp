#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regression/gate/round.hpp"

namespace dlscale::regression {

// A study of noise is an A/A test: kernels run against themselves, and against themselves with more
// work, in the rounds and by the rule of a gate.

/// The names of a kernel's arms: "gemm-a" and "gemm-b", which are alike, and "gemm-p5", with 5 %
/// more work.
std::string noise_arm(const std::string& kernel, int percent);
inline std::string noise_twin(const std::string& kernel) {
  return kernel + "-b";
}

/// How a rule judged an arm with `percent` more work.
struct PowerPoint {
  int percent = 0;       ///< nominal
  double regressed = 0;  ///< share of windows called regressed
};

/// A rule and its false-positive rate, over all windows of `rounds` successive rounds. Windows
/// overlap, so they are not independent trials.
struct RuleRates {
  std::string name;         ///< "10 rounds", "10, 20, 40 rounds"
  int rounds = 0;           ///< rounds in a window
  std::size_t windows = 0;  ///< 0: fewer rounds than one window
  double false_alarms = 0;  ///< share of windows in which two equal arms are called regressed
  double cleared = 0;       ///< share of those windows called not regressed
  std::vector<PowerPoint> power;
  /// The smallest effect that the rule calls regressed in 80 % of the windows, as a fraction: twins
  /// with that effect added to their logarithmic ratio, in steps of 0.5 %. Absent: none up to 50 %.
  std::optional<double> smallest;
};

/// The verified size of an injected slow-down.
struct Injected {
  int percent = 0;   ///< nominal
  double ratio = 1;  ///< ratio of the medians of run minima over all rounds
};

/// The findings of a study for one kernel.
struct KernelNoise {
  std::string kernel;
  std::string key;  ///< key of its rows
  std::size_t rounds = 0;
  double between_runs = 0;  ///< robust coefficient of variation of run minima
  /// Median over runs of the robust coefficient of variation of a run's samples.
  double within_run = 0;
  double autocorrelation = 0;  ///< rank autocorrelation of successive run minima
  double paired = 0;           ///< robust spread of ln of the twins' ratios
  std::vector<Injected> injected;
  std::vector<RuleRates> rules;
};

struct NoiseStudy {
  double margin = 0.01;
  std::vector<KernelNoise> kernels;
  /// The smallest effect that the gate detects on every kernel, by the sequential rule or by the
  /// longest single look that the rounds allow. Absent if it detects none on some kernel.
  std::optional<double> sees;
  std::string by_rule;
  std::size_t set_aside = 0;       ///< discarded rounds
  bool unsteady = false;           ///< so many are discarded that no rule applies
  std::vector<std::string> notes;  ///< the reasons for discarding rounds
  double seconds = 0;              ///< time of all processes
  std::string machine;
  std::string date;
};

/// Evaluates the rounds as a gate would: it discards those with a disturbance(). If most are
/// discarded, a gate decides nothing, so no effect is detected. `percents`: the injected sizes.
/// Throws Error (nothing_measured) if a kernel lacks a row in some round, or if all rounds are
/// discarded.
NoiseStudy study_noise(std::span<const Round> rounds, const std::vector<std::string>& kernels,
                       const std::vector<int>& percents, double margin);

}  // namespace dlscale::regression
