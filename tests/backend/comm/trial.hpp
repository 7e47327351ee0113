#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/collective.hpp"
#include "core/base/error.hpp"

/// One collective with numbers of which the result is known: by a plain loop over those of all
/// ranks.
namespace dlscale::backend {

enum class Placement { out_of_place, in_place };

/// What is done in one trial.
struct Trial {
  Collective collective;
  ElementType type;
  Reduction op;
  Placement placement;
  Mode mode;
  std::size_t block;  ///< elements for each rank; of the message where it is not made of blocks
  Rank root;
};

/// Whole numbers, small enough that sums of five ranks are exact in bf16 and u8, and different
/// enough that a swapped rank or block shows.
inline double number(Rank rank, std::size_t i) {
  return static_cast<double>((i * i + 3 * i + 11 * static_cast<std::size_t>(rank)) % 41 + 1);
}

inline double reduced(Reduction op, int ranks, std::size_t i) {
  double result = number(0, i);
  for (Rank rank = 1; rank < ranks; ++rank) {
    const double other = number(rank, i);
    if (op == Reduction::sum) result += other;
    if (op == Reduction::max) result = std::max(result, other);
    if (op == Reduction::min) result = std::min(result, other);
  }
  return result;
}

using Numbers = std::vector<double>;

/// Elements first, first + 1, … of what `at` says.
template <class At>
Numbers numbers(std::size_t count, std::size_t first, const At& at) {
  Numbers result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = at(first + i);
  return result;
}

/// Elements of the message of a trial.
inline std::size_t message(const Trial& trial, int ranks) {
  return in_blocks(trial.collective) ? trial.block * static_cast<std::size_t>(ranks) : trial.block;
}

/// What a rank gives; of a broadcast, what its one side holds before.
inline Numbers given(const Trial& trial, Rank rank, int ranks) {
  const auto own = [&](std::size_t i) { return number(rank, i); };
  const std::size_t whole = message(trial, ranks);
  if (trial.collective != Collective::all_gather) return numbers(whole, 0, own);
  return numbers(trial.block, static_cast<std::size_t>(rank) * trial.block, own);
}

/// Whether it is defined what a rank has afterwards.
inline bool has_result(const Trial& trial, Rank rank) {
  return trial.collective != Collective::reduce || rank == trial.root;
}

/// What a rank must have afterwards; nothing where that is not defined.
inline std::optional<Numbers> expected(const Trial& trial, Rank rank, int ranks) {
  if (!has_result(trial, rank)) return std::nullopt;
  const std::size_t whole = message(trial, ranks);
  const auto sum = [&](std::size_t i) { return reduced(trial.op, ranks, i); };
  const std::size_t own = static_cast<std::size_t>(rank) * trial.block;
  switch (trial.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return numbers(whole, 0, sum);
    case Collective::broadcast:
      return numbers(whole, 0, [&](std::size_t i) { return number(trial.root, i); });
    case Collective::all_gather:
      return numbers(whole, 0,
                     [&](std::size_t i) { return number(static_cast<Rank>(i / trial.block), i); });
    case Collective::reduce_scatter:
      return numbers(trial.block, own, sum);
    case Collective::all_to_all:
      return numbers(whole, 0, [&](std::size_t i) {
        return number(static_cast<Rank>(i / trial.block), own + i % trial.block);
      });
  }
  fail_expectation("a known Collective");
}

inline void write(ElementType type, const Numbers& values, std::span<std::byte> to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    write_element(type, values[i], to.data() + i * size_of(type));
  }
}

inline Numbers read(ElementType type, std::span<const std::byte> from) {
  Numbers values(from.size() / size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = read_element(type, from.data() + i * size_of(type));
  }
  return values;
}

/// The memory of a rank for one trial, and the call on it.
class Block {
 public:
  Block(const Trial& trial, Rank rank, int ranks) : trial_(trial), rank_(rank), ranks_(ranks) {
    const std::size_t bytes = message(trial, ranks) * size_of(trial.type);
    const Sides side = sides(trial.collective, bytes, ranks);
    const bool together = is_together();
    memory_.resize(together ? std::max(side.from, side.to) : side.from + side.to);
    const std::span<std::byte> all(memory_);
    const bool gathers = trial.collective == Collective::all_gather;
    const std::size_t own = gathers ? side.from * static_cast<std::size_t>(rank) : 0;
    from_ = all.subspan(together ? own : 0, side.from);
    call_ = {.collective = trial.collective,
             .type = trial.type,
             .op = trial.op,
             .root = trial.root,
             .from = from_,
             .to = all.subspan(together ? 0 : side.from, side.to)};
  }

  /// With the numbers of the trial; times a factor, whose sums may depend on the order.
  void fill(double factor = 1) {
    std::ranges::fill(memory_, std::byte{0xFF});
    const bool one_side = trial_.collective == Collective::broadcast;
    Numbers values = given(trial_, rank_, ranks_);
    for (double& value : values) value *= factor;
    write(trial_.type, values, one_side ? call_.to : from_);
  }

  [[nodiscard]] const CollectiveCall& call() const { return call_; }

  /// The bytes of what this rank gets; none where that is not defined.
  [[nodiscard]] std::vector<std::byte> result() const {
    if (!has_result(trial_, rank_)) return {};
    return {call_.to.begin(), call_.to.end()};
  }

  void check() const {
    const std::optional<Numbers> wanted = expected(trial_, rank_, ranks_);
    const std::string what = describe(call_, trial_.mode, rank_);
    if (wanted) {
      EXPECT_EQ(read(trial_.type, call_.to), *wanted) << what << ", " << ranks_ << " ranks";
    }
    if (!is_together()) {
      EXPECT_EQ(read(trial_.type, from_), given(trial_, rank_, ranks_)) << what << " wrote";
    }
  }

 private:
  [[nodiscard]] bool is_together() const {
    return trial_.placement == Placement::in_place || trial_.collective == Collective::broadcast;
  }

  Trial trial_;
  Rank rank_;
  int ranks_;
  std::vector<std::byte> memory_;
  std::span<std::byte> from_;
  CollectiveCall call_;
};

}  // namespace dlscale::backend
