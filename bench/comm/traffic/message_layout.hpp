#pragma once
#include <cstddef>
#include <span>

#include "backend/comm/communicator.hpp"
#include "bench/comm/traffic/traffic.hpp"

namespace dlscale::bench {

/// How the sides of a collective lie in one block of a rank's memory: in place over each other, of
/// an all_gather as the rank's own block of the result, else one after the other.
class MessageLayout {
 public:
  MessageLayout(backend::Collective collective, const Message& message,
                const backend::Communicator& ranks);

  /// Bytes of the block.
  [[nodiscard]] std::size_t size() const;
  /// Of which numbers are written before: what the rank gives, or all of a broadcast.
  [[nodiscard]] std::span<std::byte> given(std::span<std::byte> memory) const;
  /// Where the result of the rank is; of a reduce that of its root.
  [[nodiscard]] std::span<std::byte> taken(std::span<std::byte> memory) const;
  [[nodiscard]] std::span<const std::byte> taken(std::span<const std::byte> memory) const;
  [[nodiscard]] backend::CollectiveCall call(std::span<std::byte> memory,
                                             backend::DataPlace place) const;
  /// Bytes of one of the equal blocks of the message, and where this rank's begins in it.
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
