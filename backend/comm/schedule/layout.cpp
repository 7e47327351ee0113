#include "backend/comm/schedule/layout.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace dlscale::backend {
namespace {

bool stays_in_place(const collective::Schedule& schedule) {
  if (schedule.scratch > 0 || schedule.result != 0) return false;
  return std::ranges::all_of(schedule.rounds, [](const collective::Round& round) {
    return std::ranges::all_of(
        round, [](const collective::Transfer& transfer) { return transfer.shift == 0; });
  });
}

}  // namespace

Layout::Layout(const collective::Schedule& schedule, Collective collective, std::size_t message,
               std::size_t element)
    : message_(message),
      element_(element),
      blocks_(in_blocks(collective) ? static_cast<std::size_t>(schedule.ranks) : 1),
      chunks_(schedule.chunks),
      slots_(schedule.chunks + schedule.scratch),
      is_message_(stays_in_place(schedule)) {
  EXPECT(chunks_ >= 1 && chunks_ % static_cast<int>(blocks_) == 0);
  EXPECT(message % (element * blocks_) == 0);
}

std::size_t Layout::offset(int slot) const {
  EXPECT(slot >= 0 && slot <= slots_);
  const auto index = static_cast<std::size_t>(slot);
  if (is_message_) {
    const std::size_t elements = message_ / element_;
    return elements * index / static_cast<std::size_t>(chunks_) * element_;
  }
  const std::size_t elements = block_bytes() / element_;
  const auto parts = static_cast<std::size_t>(slots_of_block());
  return (elements + parts - 1) / parts * element_ * index;
}

}  // namespace dlscale::backend
