#pragma once
#include <cstddef>

#include "backend/comm/collective.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

/// Where the slots of a schedule lie in the memory of a rank, in bytes.
class Layout {
 public:
  /// For a message of so many bytes, made of whole elements and, where the collective has them, of
  /// equal blocks.
  Layout(const collective::Schedule& schedule, Collective collective, std::size_t message,
         std::size_t element);

  /// Whether the slots are parts of the message where it lies: as equal as whole elements allow.
  /// So they are, too, where those in scratch are cut as further messages, and slots are copied
  /// onto the same ones of others. Else all are equally long: the last one of a block is filled up.
  [[nodiscard]] bool is_message() const { return are_cut_ && slots_ == chunks_; }
  /// Where a slot begins: 0 … number of slots.
  [[nodiscard]] std::size_t offset(int slot) const;
  /// Of slots [first, first + count).
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
  bool are_cut_;  ///< as messages
};

}  // namespace dlscale::backend
