#pragma once
#include <cstddef>
#include <span>

#include "backend/comm/communicator.hpp"
#include "bench/comm/traffic/traffic.hpp"

namespace dlscale::bench {

/// Layout of a collective's send and receive sides in one block of memory: overlapping if in place
/// (for an all_gather, the rank's own block of the result), else one after the other.
class MessageLayout {
 public:
  MessageLayout(backend::Collective collective, const Message& message,
                const backend::Communicator& ranks);

  /// Bytes of the block of memory.
  [[nodiscard]] std::size_t size() const;
  /// The part to fill before the collective: this rank's input, or the whole message of a
  /// broadcast.
  [[nodiscard]] std::span<std::byte> given(std::span<std::byte> memory) const;
  /// The part that holds this rank's result; for a reduce the result of its root.
  [[nodiscard]] std::span<std::byte> taken(std::span<std::byte> memory) const;
  [[nodiscard]] std::span<const std::byte> taken(std::span<const std::byte> memory) const;
  [[nodiscard]] backend::CollectiveCall call(std::span<std::byte> memory,
                                             backend::DataPlace place) const;
  /// Bytes of one of the message's equal blocks, and the offset of this rank's block.
  [[nodiscard]] std::size_t block() const;
  [[nodiscard]] std::size_t own_block() const;

 private:
  [[nodiscard]] bool is_one_block() const;
  [[nodiscard]] std::size_t taken_at() const;

  backend::Collective collective_;
  Message message_;
  Rank rank_;
  std::size_t ranks_;
  backend::Sides sides_;
};

}  // namespace dlscale::bench
