#pragma once
#include <algorithm>
#include <cstddef>

namespace dlscale::backend {

/// Elements that one MPI call may move: counts are ints, and a power of two keeps pieces aligned.
inline constexpr std::size_t largest_chunk = std::size_t{1} << 30U;

/// Calls use(offset, count) for consecutive pieces of at most `limit` elements. An empty message,
/// which still has to be sent, gives one call with a count of zero.
template <class Use>
void for_each_chunk(std::size_t count, std::size_t limit, Use use) {
  std::size_t offset = 0;
  do {
    const std::size_t piece = std::min(limit, count - offset);
    use(offset, static_cast<int>(piece));
    offset += piece;
  } while (offset < count);
}

}  // namespace dlscale::backend
