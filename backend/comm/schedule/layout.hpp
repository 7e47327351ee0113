#pragma once
#include <cstddef>

#include "backend/comm/collective.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

/// Byte offsets of a schedule's slots in the memory of a rank.
class Layout {
 public:
  /// For a message of `message` bytes, which consists of whole elements and, where the collective
  /// has blocks, of equal blocks.
  Layout(const collective::Schedule& schedule, Collective collective, std::size_t message,
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

}  // namespace dlscale::backend
