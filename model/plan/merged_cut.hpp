#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/network/merge.hpp"
#include "model/plan/cut.hpp"
#include "model/plan/profile.hpp"

namespace dlscale::model {

/// merge_optimally() of core/network/merge.hpp in O(L), for one who plans many messages. With the prefixes
/// ending at r_1 ≤ r_2 ≤ … and S_n the bytes of the first n gradients, (2.3) is
///   f(n) = a + b S_n + min over k < n of max{ f(k), r_n } - b S_k.
/// f never falls, so of all k with f(k) ≤ r_n the last is best, and it only moves on as n does; of
/// those behind it the least f(k) - b S_k counts, which a queue of minima keeps. [D] Where several
/// groupings end at the same time, rounding may choose another one than core's.
class MergedCuts {
 public:
  /// Groups of the gradients of `profile` for messages that take `cost`. Requires ≥ 1 gradient; the
  /// result holds until the next call.
  std::span<const std::size_t> optimal(const Profile& profile, const LinearCost& cost);

 private:
  std::vector<double> bytes_;         ///< S, by length of the prefix
  std::vector<double> arrival_;       ///< f, likewise
  std::vector<std::size_t> before_;   ///< the best k, likewise
  std::vector<std::size_t> waiting_;  ///< the queue of minima
  std::vector<std::size_t> groups_;
};

/// T_bc of such groups, of which each message of M bytes takes `line`, after a meeting: the
/// recurrence (1.6).
double backward_with_groups(const Profile& profile, std::span<const std::size_t> groups,
                            const LinearCost& line, double meeting);

/// The gradients as core/network/merge.hpp takes them.
std::vector<ReadyGradient> ready_gradients(const Profile& profile);

}  // namespace dlscale::model
