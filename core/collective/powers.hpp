#pragma once
#include "core/base/ids.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// Powers of two that algorithms are built on.
int floor_log2(int p);          ///< ⌊lg p⌋, p ≥ 1
int ceiling_log2(int p);        ///< ⌈lg p⌉, p ≥ 1
int largest_power_of_2(int p);  ///< the largest 2^k ≤ p, p ≥ 1

/// The members p' = 2^⌊lg p⌋ of a group of any size that take part in a power-of-two algorithm. The
/// first 2 (p - p') ranks pair up: the even one hands what it has to the odd one before, and gets
/// the result after. [MPICH, Thakur et al. 2005]
class PowerOfTwoGroup {
 public:
  explicit PowerOfTwoGroup(int p);
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int folded() const { return folded_; }  ///< p - p', the number of pairs
  [[nodiscard]] Rank rank(int member) const;            ///< 0 ≤ member < size()
  /// The rounds of an all-reduce whose ranks are members, made those of all ranks: whole vectors
  /// are added within the pairs before, and copied back after. Keeps its chunks.
  [[nodiscard]] Schedule around(Schedule inner) const;

 private:
  int size_;
  int folded_;
};

}  // namespace dlscale::collective
