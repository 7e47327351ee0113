#pragma once
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/sections/sections.hpp"

namespace dlscale::report {

/// A property of the measurements on a page that decides whether they are usable.
enum class QualityKind {
  validity,  ///< statuses of measurements, incomplete files, failed cells
  answers,   ///< results compared with a reference
  canary,    ///< A/A tests of suites of cells
  slowdown,  ///< slow witnesses of --wait-quiet, throttling of GPUs and processors
  noise,     ///< within a run
  repeats,   ///< between runs of one version on one host
  build,     ///< sanitizers, optimisation, local changes
};

enum class QualityResult { pass, warn, fail };

/// One check, and the numbers in its sentence.
struct QualityCheck {
  QualityKind kind = QualityKind::validity;
  QualityResult result = QualityResult::pass;
  std::map<std::string, double, std::less<>> numbers = {};

  [[nodiscard]] double number(std::string_view name) const;  ///< 0 if absent
  /// Whether any is above 0.
  [[nodiscard]] bool any(std::initializer_list<std::string_view> names) const;
};

/// All checks that the results allow, in the order of QualityKind.
std::vector<QualityCheck> quality_checks(const ReportInput& input);

/// "3 measurements: 1 ok, 2 unstable".
std::string sentence(const QualityCheck& check);

/// Good, usable or doubtful, by the worst check, and what that one found.
Badge quality_badge(const ReportInput& input);

/// The table of checks, and the smallest changes that studies of noise found detectable.
Section quality_section(const ReportInput& input);

}  // namespace dlscale::report
