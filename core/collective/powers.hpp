#pragma once
#include "core/base/ids.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// Powers of two used by algorithms.
int floor_log2(int p);          ///< ⌊lg p⌋, p ≥ 1
int ceiling_log2(int p);        ///< ⌈lg p⌉, p ≥ 1
int largest_power_of_2(int p);  ///< the largest 2^k ≤ p, p ≥ 1

/// The p' = 2^⌊lg p⌋ members of a group of any size that take part in a power-of-two algorithm. The
/// first 2 (p - p') ranks pair up: before, the even rank gives its data to the odd one; afterwards
/// it gets the result. [MPICH, Thakur et al. 2005]
class PowerOfTwoGroup {
 public:
  explicit PowerOfTwoGroup(int p);
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int folded() const { return folded_; }  ///< p - p', the number of pairs
  [[nodiscard]] Rank rank(int member) const;            ///< 0 ≤ member < size()
  /// Extends the rounds of an all-reduce among the members to all ranks: pairs add whole vectors
  /// before, and copy the result back afterwards. The number of chunks stays.
  [[nodiscard]] Schedule around(Schedule inner) const;

 private:
  int size_;
  int folded_;
};

}  // namespace dlscale::collective
