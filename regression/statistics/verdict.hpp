#pragma once
#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::report {

/// Verdict on the change of a quantity between two versions. Each comparison uses a subset.
enum class Verdict {
  improved,       ///< better by more than the margin
  unchanged,      ///< within the margin both ways
  not_regressed,  ///< worse by less than the margin; improvement was not tested
  regressed,
  shifted,       ///< changed, where neither direction is better
  inconclusive,  ///< more measurements are needed
  wrong,         ///< the answer is wrong, so its speed does not matter
};
/// "improved", "unchanged", "not regressed", "regressed", "shifted", "inconclusive", "wrong".
std::string_view verdict_name(Verdict verdict);

ExitCode exit_code(Verdict verdict);

}  // namespace dlscale::report
