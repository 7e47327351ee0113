#include "backend/comm/schedule/layout.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Whether slots are copied only onto slots that hold the same part of the message, there or in one
/// of several messages in scratch.
bool keeps_parts(const collective::Schedule& schedule) {
  const int chunks = schedule.chunks;
  if (chunks < 1 || schedule.result != 0 || schedule.scratch % chunks != 0) return false;
  return std::ranges::all_of(schedule.rounds, [&](const collective::Round& round) {
    return std::ranges::all_of(
        round, [&](const collective::Transfer& transfer) { return transfer.shift % chunks == 0; });
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
      are_cut_(keeps_parts(schedule)) {
  EXPECT(chunks_ >= 1 && chunks_ % static_cast<int>(blocks_) == 0);
  EXPECT(message % (element * blocks_) == 0);
}

std::size_t Layout::offset(int slot) const {
  EXPECT(slot >= 0 && slot <= slots_);
  const auto index = static_cast<std::size_t>(slot);
  if (are_cut_) {
    const std::size_t elements = message_ / element_;
    const auto chunks = static_cast<std::size_t>(chunks_);
    return index / chunks * message_ + elements * (index % chunks) / chunks * element_;
  }
  const std::size_t elements = block_bytes() / element_;
  const auto parts = static_cast<std::size_t>(slots_of_block());
  return (elements + parts - 1) / parts * element_ * index;
}

}  // namespace dlscale::backend
