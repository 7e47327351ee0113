#pragma once
#include <cstddef>
#include <vector>

#include "backend/comm/collective.hpp"
#include "core/base/ids.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

/// Byte offsets of a schedule's slots in the memory of a rank.
class SlotLayout {
 public:
  /// For a message of `message` bytes, which consists of whole elements and, where the collective
  /// has blocks, of equal blocks.
  SlotLayout(const collective::Schedule& schedule, Collective collective, std::size_t message,
             std::size_t element);

  /// Whether the slots are parts of the message itself, as equal as whole elements allow. This also
  /// holds where the scratch slots are cut as further messages and slots are copied onto the same
  /// slots of others. Otherwise all slots have equal length: the last one of a block is padded.
  [[nodiscard]] bool is_message() const { return are_cut_ && slots_ == chunks_; }
  /// Offset of a slot: 0 … number of slots.
  [[nodiscard]] std::size_t offset(int slot) const;
  /// Size of slots [first, first + count).
  [[nodiscard]] std::size_t bytes(int first, int count) const {
    return offset(first + count) - offset(first);
  }
  [[nodiscard]] std::size_t size() const { return offset(slots_); }
  /// A message without blocks counts as one.
  [[nodiscard]] std::size_t block_bytes() const { return message_ / blocks_; }
  [[nodiscard]] int slots_of_block() const { return chunks_ / static_cast<int>(blocks_); }

 private:
  std::size_t message_;
  std::size_t element_;
  std::size_t blocks_;
  int chunks_;
  int slots_;
  bool are_cut_;  ///< whether slots are cut as messages
};

/// One rank's work in one round of a schedule, in bytes of two memories: the slots, and a staging
/// area for data that cannot be sent from, or received into, its slots.
struct RoundPlan {
  struct Message {
    Rank peer = 0;
    bool staged = false;     ///< whether it is in staging or in the slots
    std::size_t offset = 0;  ///< offset in that memory
    std::size_t bytes = 0;
  };
  struct Copy {
    std::size_t slots = 0;  ///< offset in the slots
    std::size_t staging = 0;
    std::size_t bytes = 0;
    bool adds = false;  ///< when landing: reduces instead of copying
  };
  std::vector<Copy> pack;  ///< from the slots to staging, before messages travel
  std::vector<Message> out;
  std::vector<Message> in;
  std::vector<Copy> land;  ///< from staging to the slots afterwards, in this order
};

struct Plan {
  std::vector<RoundPlan> rounds;  ///< only rounds in which the rank takes part
  std::size_t staging = 0;        ///< bytes
};

/// The complete work of `rank`. Two ranks exchange one message per round. Both ends omit empty
/// messages.
Plan plan_rounds(const collective::Schedule& schedule, const SlotLayout& layout, Rank rank);

}  // namespace dlscale::backend
