#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// Errors that a rank found in its result; trivially copyable, for an all-gather.
struct Mismatch {
  std::int64_t wrong = 0;  ///< number of wrong elements
  std::int64_t index = 0;  ///< index of the first
  double value = 0;
  double expected = 0;
};

/// Description of the errors on any rank, the same on all ranks; empty if there are none.
/// Collective.
std::string shared_verdict(backend::Communicator& ranks, const Mismatch& mine);

/// Test data with an exactly known result. Every rank has its own sequence of small whole numbers
/// that look random. Sums are exact in the element type in any order, and an element from a wrong
/// rank or position is detected.
class TestNumbers {
 public:
  /// Numbers for reductions. Throws Unsupported if sums over that many ranks are not exact.
  TestNumbers(backend::ElementType type, backend::Reduction op, int ranks);
  /// Numbers for messages without a reduction.
  explicit TestNumbers(backend::ElementType type);

  /// Writes elements first, first + 1, … of a rank's sequence until `to` is full.
  void write(Rank rank, std::size_t first, std::span<std::byte> to) const;
  /// Compares with those elements, bit by bit.
  [[nodiscard]] Mismatch compare(Rank rank, std::size_t first,
                                 std::span<const std::byte> with) const;
  /// Compares with elements first, first + 1, … of the reduction of all ranks' sequences.
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
  std::uint64_t numbers_;  ///< values are 0 … numbers_ - 1
};

/// Combines the findings on two parts of one message. The index counts from the start of the
/// message; `second` begins `offset` elements after it.
Mismatch join(const Mismatch& first, const Mismatch& second, std::size_t offset);

}  // namespace dlscale::bench
