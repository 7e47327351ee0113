#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/memory/out_of_core/spill_time.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"

namespace dlscale::model {

/// Ways to train with less memory than the outputs take.
enum class SpillPolicy {
  keep,             ///< everything stays
  recompute,        ///< outputs of cheap layers are computed anew, the others stay
  naive,            ///< all is swapped; copies and computing wait for each other
  vdnn_conv,        ///< inputs of convolutions are swapped, one step ahead [arXiv:1602.08124]
  vdnn_all,         ///< all outputs are, likewise
  prefetch,         ///< as vdnn_all, at the best distance of up to eight steps
  unified,          ///< managed memory, pages on demand
  unified_advised,  ///< managed memory with prefetches and advice [OC-DNN]
  optimal,          ///< the best mixture: optimal_choices(), and not slower than any other here
};
inline constexpr std::array all_spill_policies{
    SpillPolicy::keep,      SpillPolicy::recompute,       SpillPolicy::naive,
    SpillPolicy::vdnn_conv, SpillPolicy::vdnn_all,        SpillPolicy::prefetch,
    SpillPolicy::unified,   SpillPolicy::unified_advised, SpillPolicy::optimal};
std::string_view spill_policy_name(SpillPolicy policy);
SpillPolicy parse_spill_policy(std::string_view name);  ///< throws ConfigError

/// "keep", "swap" or "recompute".
std::string_view spill_choice_name(SpillChoice choice);

/// An iteration under a policy.
struct SpillAnswer {
  SpillPolicy policy = SpillPolicy::keep;
  Seconds total;
  Seconds stall;
  Seconds recomputing;
  Bytes peak;                             ///< with managed memory the whole budget, if it is needed
  Bytes to_host;                          ///< a step
  Bytes anew;                             ///< bytes of outputs that are computed anew
  int distance = 0;                       ///< of copies, in steps
  std::vector<SpillChoice> choices = {};  ///< by tensor; empty for managed memory
  /// optimal: the policy that it is, itself for a mixture.
  SpillPolicy same_as = SpillPolicy::optimal;
  /// Time over that on a device with enough memory, less 1.
  [[nodiscard]] double slow_down(const SpilledTraining& training) const {
    return std::max(0.0, total / training.compute() - 1);  // rounding may go below
  }
};

/// The iteration under a policy, on a device with the memory `budget`. Throws ConfigError, which
/// says what is needed, if the peak exceeds it.
SpillAnswer spilled(SpillPolicy policy, const SpilledTraining& training, const HostLink& link,
                    Bytes budget);

}  // namespace dlscale::model
