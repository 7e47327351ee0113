#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/gate/interleaved.hpp"
#include "regression/gate/paired_gate.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// A kernel of a study, and the words of `dlscale bench` that measure it.
struct NoiseKernel {
  std::string name;
  std::vector<std::string> words;
};
/// Those a study has unless others are named: each takes some milliseconds a sample.
std::vector<NoiseKernel> noise_kernels();

/// The arms of a kernel: "gemm-a" and "gemm-b", which are alike, and "gemm-p5", with 5 % more work.
std::string noise_arm(const std::string& kernel, int percent);
inline std::string noise_twin(const std::string& kernel) {
  return kernel + "-b";
}

/// What a rule called an arm with this much more work.
struct PowerPoint {
  int percent = 0;       ///< nominal
  double regressed = 0;  ///< share of windows
};

/// A rule and how often it alarms, over all windows of so many successive rounds: they overlap, so
/// that their number is not that of independent trials.
struct RuleRates {
  std::string name;         ///< "10 rounds", "10, 20, 40 rounds"
  int rounds = 0;           ///< of a window
  std::size_t windows = 0;  ///< 0: fewer rounds than one window
  double false_alarms = 0;  ///< of two arms that are alike
  double cleared = 0;       ///< of the same: called not regressed
  std::vector<PowerPoint> power;
  /// The smallest effect that it calls regressed in 80 % of the windows: twins with that much added
  /// to their logarithmic ratio, in steps of 0.5 %. Absent: none up to 50 %.
  std::optional<double> smallest;
};

/// The verified size of an injected slow-down.
struct Injected {
  int percent = 0;   ///< nominal
  double ratio = 1;  ///< of the medians of run minima over all rounds
};

/// What a study found of one kernel.
struct KernelNoise {
  std::string kernel;
  std::string key;  ///< of its rows
  std::size_t rounds = 0;
  double between_runs = 0;     ///< robust coefficient of variation of run minima
  double within_run = 0;       ///< median over runs of that of a run's samples
  double autocorrelation = 0;  ///< of successive run minima, by ranks
  double paired = 0;           ///< robust spread of ln of twins' ratios
  std::vector<Injected> injected;
  std::vector<RuleRates> rules;
};

struct NoiseStudy {
  double margin = 0.01;
  std::vector<KernelNoise> kernels;
  /// The largest over kernels of the smallest effect seen with the sequential rule, or with the
  /// longest single look that the rounds allow; absent if some kernel has none.
  std::optional<double> sees;
  std::string by_rule;
  std::size_t set_aside = 0;       ///< rounds in which the machine was slowed: none of the above
  bool unsteady = false;           ///< they are too many, so that there is no rule
  std::vector<std::string> notes;  ///< which
  double seconds = 0;              ///< of all processes
  std::string machine;
  std::string date;
};

/// Of the rounds that a gate would judge: it sets those aside in which the machine was slowed or
/// held back, and where those are most, a gate decides nothing, so that nothing is seen.
/// `percents`: the injected sizes. Kernels without a row in every round are an Error
/// (nothing_measured), and so are rounds that are all set aside.
NoiseStudy study_noise(std::span<const Round> rounds, const std::vector<NoiseKernel>& kernels,
                       const std::vector<int>& percents, double margin);

/// {"schema": "dlscale.noise", "version": 1, …}
report::Document noise_document(const NoiseStudy& study);

}  // namespace dlscale::app
