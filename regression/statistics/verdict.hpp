#pragma once
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::report {

/// What became of a quantity from one version to another. Each comparison gives some of these.
enum class Verdict {
  improved,       ///< by more than the margin
  unchanged,      ///< within the margin both ways
  not_regressed,  ///< worse by less than the margin; whether it is better was not asked
  regressed,
  shifted,       ///< changed, and neither way is better
  inconclusive,  ///< more has to be measured
  wrong,         ///< the answer is, so that its speed does not matter
};
/// "improved", "unchanged", "not regressed", "regressed", "shifted", "inconclusive", "wrong".
std::string_view verdict_name(Verdict verdict);

ExitCode exit_code(Verdict verdict);

}  // namespace dlscale::report
