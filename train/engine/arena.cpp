#include "train/engine/arena.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale::train {
namespace {

bool share_a_step(const LiveRange& a, const LiveRange& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::vector<std::size_t> largest_first(std::span<const LiveRange> ranges) {
  std::vector<std::size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return ranges[i].bytes; });
  return order;
}

/// Allocated memory, [begin, end).
struct Taken {
  std::size_t begin;
  std::size_t end;
};

/// The lowest gap of `bytes` between the `taken` ranges.
std::size_t first_fit(std::vector<Taken> taken, std::size_t bytes) {
  std::ranges::sort(taken, {}, &Taken::begin);
  std::size_t offset = 0;
  for (const Taken& piece : taken) {
    if (piece.begin >= offset + bytes) break;
    offset = std::max(offset, piece.end);
  }
  return offset;
}

}  // namespace

Placement place(std::span<const LiveRange> ranges, std::size_t alignment) {
  EXPECT(std::has_single_bit(alignment));
  Placement placement{.offsets = std::vector<std::size_t>(ranges.size()), .bytes = 0};
  const auto end_of = [&](std::size_t i) {
    return placement.offsets[i] + align_up(ranges[i].bytes, alignment);
  };
  std::vector<std::size_t> placed;
  for (const std::size_t i : largest_first(ranges)) {
    EXPECT(ranges[i].first <= ranges[i].last);
    std::vector<Taken> taken;
    for (const std::size_t j : placed) {
      if (share_a_step(ranges[i], ranges[j])) taken.push_back({placement.offsets[j], end_of(j)});
    }
    placement.offsets[i] = first_fit(std::move(taken), align_up(ranges[i].bytes, alignment));
    placement.bytes = std::max(placement.bytes, end_of(i));
    placed.push_back(i);
  }
  return placement;
}

}  // namespace dlscale::train
