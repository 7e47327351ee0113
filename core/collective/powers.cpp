#include "core/collective/powers.hpp"

#include <bit>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::collective {

int floor_log2(int p) {
  EXPECT(p >= 1);
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p))) - 1;
}

int ceiling_log2(int p) {
  EXPECT(p >= 1);
  return static_cast<int>(std::bit_width(static_cast<unsigned>(p) - 1));
}

int largest_power_of_2(int p) {
  return 1 << floor_log2(p);
}

PowerOfTwoGroup::PowerOfTwoGroup(int p) : size_(largest_power_of_2(p)), folded_(p - size_) {}

Rank PowerOfTwoGroup::rank(int member) const {
  EXPECT(member >= 0 && member < size_);
  return member < folded_ ? 2 * member + 1 : member + folded_;
}

Schedule PowerOfTwoGroup::around(Schedule inner) const {
  inner.ranks = size_ + folded_;
  for (Round& round : inner.rounds) {
    for (Transfer& transfer : round) {
      transfer.from = rank(transfer.from);
      transfer.to = rank(transfer.to);
    }
  }
  if (folded_ == 0) return inner;
  Round fold;
  Round unfold;
  for (int pair = 0; pair < folded_; ++pair) {
    fold.push_back({2 * pair, 2 * pair + 1, 0, inner.chunks, Transfer::Action::add});
    unfold.push_back({2 * pair + 1, 2 * pair, 0, inner.chunks, Transfer::Action::copy});
  }
  inner.rounds.insert(inner.rounds.begin(), std::move(fold));
  inner.rounds.push_back(std::move(unfold));
  return inner;
}

}  // namespace dlscale::collective
