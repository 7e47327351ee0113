#include "backend/comm/mpi/chunks.hpp"

#include <climits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace dlscale::backend {
namespace {

std::vector<std::pair<std::size_t, int>> chunks(std::size_t count, std::size_t limit) {
  std::vector<std::pair<std::size_t, int>> pieces;
  for_each_chunk(count, limit,
                 [&](std::size_t offset, int size) { pieces.emplace_back(offset, size); });
  return pieces;
}

using Pieces = std::vector<std::pair<std::size_t, int>>;

TEST(Chunks, CutALargeMessageIntoConsecutivePieces) {
  EXPECT_EQ(chunks(10, 4), (Pieces{{0, 4}, {4, 4}, {8, 2}}));
  EXPECT_EQ(chunks(8, 4), (Pieces{{0, 4}, {4, 4}}));
}

TEST(Chunks, KeepASmallMessageWhole) {
  EXPECT_EQ(chunks(1, 4), (Pieces{{0, 1}}));
  EXPECT_EQ(chunks(4, 4), (Pieces{{0, 4}}));
}

TEST(Chunks, StillSendAnEmptyMessage) {
  EXPECT_EQ(chunks(0, 4), (Pieces{{0, 0}}));
}

TEST(Chunks, CoverMoreElementsThanAnIntCounts) {
  const std::size_t count = 3 * static_cast<std::size_t>(INT_MAX) + 5;
  std::size_t next = 0;
  for (const auto& [offset, size] : chunks(count, largest_chunk)) {
    EXPECT_EQ(offset, next);
    EXPECT_GT(size, 0);
    next += static_cast<std::size_t>(size);
  }
  EXPECT_EQ(next, count);
}

}  // namespace
}  // namespace dlscale::backend
