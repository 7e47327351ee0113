#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/merge.hpp"
#include "model/plan/profile.hpp"

namespace dlscale::model {

/// Gradients grouped into messages. Gradients are in the order in which backward finishes them.
/// Message i ends with gradient `last[i]` and is ready once that is.
struct Cut {
  /// Index of the last gradient of each message, ascending; empty where nothing is sent.
  std::vector<std::size_t> last;
  std::vector<double> bytes;  ///< by message, > 0
  [[nodiscard]] std::size_t messages() const { return last.size(); }
  bool operator==(const Cut&) const = default;
};

/// Returns one message for each gradient.
Cut cut_singly(std::span<const double> gradients);

/// Closes a message once it holds `limit` bytes, and the first one once it holds `first` bytes.
/// gradient_buckets() of core/network/step.hpp does the same with 25 MiB and 1 MiB. Both are > 0.
Cut cut_in_buckets(std::span<const double> gradients, Bytes first, Bytes limit);

/// Message i holds the next groups[i] gradients. The groups cover all gradients.
Cut cut_by_groups(std::span<const double> gradients, std::span<const std::size_t> groups);

/// merge_optimally() of core/network/merge.hpp in O(L), for callers that plan many messages. With
/// the prefixes ending at r_1 ≤ r_2 ≤ … and S_n the bytes of the first n gradients, (2.3) is
///   f(n) = a + b S_n + min over k < n of max{ f(k), r_n } - b S_k.
/// f never falls. Of all k with f(k) ≤ r_n, the last is therefore best, and it only grows with n.
/// Among the later k the one with the least f(k) - b S_k is best; a queue of minima keeps it. [D]
/// Where several groupings end at the same time, rounding may choose another one than core's.
class MergedCuts {
 public:
  /// Groups of the gradients of `profile` for messages that take `cost`. Requires ≥ 1 gradient. The
  /// result is valid until the next call.
  std::span<const std::size_t> optimal(const Profile& profile, const LinearCost& cost);

 private:
  std::vector<double> bytes_;         ///< S, by length of the prefix
  std::vector<double> arrival_;       ///< f, by length of the prefix
  std::vector<std::size_t> before_;   ///< the best k, by length of the prefix
  std::vector<std::size_t> waiting_;  ///< the queue of minima
  std::vector<std::size_t> groups_;
};

/// T_bc of such groups by the recurrence (1.6). Each message of M bytes takes `line` after a
/// barrier of `barrier` s.
double backward_with_groups(const Profile& profile, std::span<const std::size_t> groups,
                            const LinearCost& line, double barrier);

/// The gradients in the form of core/network/merge.hpp.
std::vector<ReadyGradient> ready_gradients(const Profile& profile);

}  // namespace dlscale::model
