#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// What a rank found wrong in its result; plain bytes, for an all-gather.
struct Mismatch {
  std::int64_t wrong = 0;  ///< elements
  std::int64_t index = 0;  ///< of the first
  double value = 0;
  double expected = 0;
};

/// What is wrong on any rank, in words, the same on all ranks; empty if nothing is. Collective.
std::string shared_verdict(backend::Communicator& ranks, const Mismatch& mine);

/// Numbers to send, of which the result is known exactly. Every rank has a sequence of its own, of
/// small whole numbers that look random: every sum of theirs is exact in the element type whatever
/// its order, and an element that came from a wrong rank or place shows.
class TestNumbers {
 public:
  /// For messages that are reduced. Throws Unsupported if the sums of so many ranks are not exact.
  TestNumbers(backend::ElementType type, backend::Reduction op, int ranks);
  /// For messages that are only moved.
  explicit TestNumbers(backend::ElementType type);

  /// Elements first, first + 1, … of the sequence of a rank; as many as there is room for.
  void write(Rank rank, std::size_t first, std::span<std::byte> to) const;
  /// Compares with the same, bit by bit.
  [[nodiscard]] Mismatch compare(Rank rank, std::size_t first,
                                 std::span<const std::byte> with) const;
  /// Compares with elements first, first + 1, … of what the sequences of all ranks are reduced to.
  [[nodiscard]] Mismatch compare_reduced(std::size_t first, std::span<const std::byte> with) const;

 private:
  [[nodiscard]] double number(Rank rank, std::size_t place) const;
  [[nodiscard]] std::vector<std::byte> sequence(Rank rank) const;
  [[nodiscard]] std::vector<std::byte> reduced_sequence() const;
  [[nodiscard]] Mismatch compare(std::span<const std::byte> wanted, std::size_t first,
                                 std::span<const std::byte> with) const;

  backend::ElementType type_;
  backend::Reduction op_ = backend::Reduction::sum;
  int ranks_ = 1;
  std::uint64_t numbers_;  ///< 0 … numbers_ - 1
};

/// The first of two findings about parts of one message that is one; its index counts from the
/// beginning of the message, `offset` elements before that of `second`.
Mismatch join(const Mismatch& first, const Mismatch& second, std::size_t offset);

}  // namespace dlscale::bench
