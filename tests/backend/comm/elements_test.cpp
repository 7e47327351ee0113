#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "backend/comm/elements.hpp"
#include "backend/comm/mpi/chunks.hpp"

namespace dlscale::backend {
namespace {

std::vector<std::byte> made_of(ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    write_element(type, values[i], bytes.data() + i * size_of(type));
  }
  return bytes;
}

double combined(ElementType type, Reduction op, double a, double b) {
  std::vector<std::byte> accumulated = made_of(type, {a});
  combine(type, op, made_of(type, {b}), accumulated);
  return read_element(type, accumulated.data());
}

constexpr std::array floats{ElementType::f32, ElementType::f64, ElementType::bf16,
                            ElementType::f16};
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Elements, HaveNamesAndSizesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const ElementType type : element_types) names.insert(to_string(type));
  for (const Reduction op : reductions) names.insert(to_string(op));
  EXPECT_EQ(names.size(), element_types.size() + reductions.size());
  EXPECT_EQ(size_of(ElementType::f64), 8U);
  EXPECT_EQ(size_of(ElementType::i64), 8U);
  EXPECT_EQ(size_of(ElementType::f32), 4U);
  EXPECT_EQ(size_of(ElementType::i32), 4U);
  EXPECT_EQ(size_of(ElementType::bf16), 2U);
  EXPECT_EQ(size_of(ElementType::f16), 2U);
  EXPECT_EQ(size_of(ElementType::u8), 1U);
}

TEST(Elements, HoldWholeNumbersUpToTheLargestSaid) {
  for (const ElementType type : element_types) {
    const double largest = largest_whole(type);
    for (const double value : {0.0, 1.0, 2.0, largest - 1, largest}) {
      EXPECT_EQ(read_element(type, made_of(type, {value}).data()), value) << to_string(type);
    }
  }
  // The next one is none of them.
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    const double next = largest_whole(type) + 1;
    EXPECT_NE(read_element(type, made_of(type, {next}).data()), next) << to_string(type);
  }
}

TEST(Combine, MakesSumMaximumAndMinimumOfEveryElement) {
  for (const ElementType type : element_types) {
    std::vector<std::byte> sums = made_of(type, {1, 2, 100, 7, 0});
    std::vector<std::byte> large = sums;
    std::vector<std::byte> small = sums;
    const std::vector<std::byte> other = made_of(type, {3, 2, 27, 0, 9});
    combine(type, Reduction::sum, other, sums);
    combine(type, Reduction::max, other, large);
    combine(type, Reduction::min, other, small);
    EXPECT_EQ(sums, made_of(type, {4, 4, 127, 7, 9})) << to_string(type);
    EXPECT_EQ(large, made_of(type, {3, 2, 100, 7, 9})) << to_string(type);
    EXPECT_EQ(small, made_of(type, {1, 2, 27, 0, 0})) << to_string(type);
  }
}

TEST(Combine, ReadsAndWritesAtAnyAddress) {
  std::vector<std::byte> bytes(1 + 2 * sizeof(double));
  write_element(ElementType::f64, 2.5, bytes.data() + 1);
  write_element(ElementType::f64, 4.0, bytes.data() + 1 + sizeof(double));
  const std::span<std::byte> all(bytes);
  combine(ElementType::f64, Reduction::sum, all.subspan(1 + sizeof(double)),
          all.subspan(1, sizeof(double)));
  EXPECT_EQ(read_element(ElementType::f64, bytes.data() + 1), 6.5);
}

TEST(Combine, RoundsSumsOfHalvesToTheNearestAndTiesToEven) {
  // Steps of bf16 are 2 from 256 on, those of f16 from 2048 on.
  for (const auto& [type, start] :
       {std::pair(ElementType::bf16, 256.0), std::pair(ElementType::f16, 2048.0)}) {
    EXPECT_EQ(combined(type, Reduction::sum, start, 1), start);
    EXPECT_EQ(combined(type, Reduction::sum, start + 2, 1), start + 4);
    EXPECT_EQ(combined(type, Reduction::sum, start, 1.25), start + 2);
  }
}

TEST(Combine, OverflowsToInfinity) {
  EXPECT_EQ(combined(ElementType::f16, Reduction::sum, 65504, 15), 65504);
  EXPECT_EQ(combined(ElementType::f16, Reduction::sum, 65504, 16), infinity);
  EXPECT_EQ(combined(ElementType::f16, Reduction::sum, -65504, -65504), -infinity);
  const double largest_bf16 = 0x1.FEp127;
  EXPECT_EQ(combined(ElementType::bf16, Reduction::sum, largest_bf16, largest_bf16), infinity);
  const double largest_f32 = std::numeric_limits<float>::max();
  EXPECT_EQ(combined(ElementType::f32, Reduction::sum, largest_f32, largest_f32), infinity);
}

TEST(Combine, WrapsSumsOfWholeNumbersAround) {
  EXPECT_EQ(combined(ElementType::u8, Reduction::sum, 200, 100), 44);
  EXPECT_EQ(combined(ElementType::i32, Reduction::sum, 2147483647.0, 1), -2147483648.0);
  EXPECT_EQ(combined(ElementType::i64, Reduction::sum, -0x1p63, -0x1p63), 0);
}

TEST(Combine, LetsNoNanGetLost) {
  for (const ElementType type : floats) {
    for (const Reduction op : reductions) {
      for (const double other : {1.0, -infinity, infinity, nan}) {
        EXPECT_TRUE(std::isnan(combined(type, op, nan, other))) << to_string(type);
        EXPECT_TRUE(std::isnan(combined(type, op, other, nan))) << to_string(type);
      }
    }
    EXPECT_TRUE(std::isnan(combined(type, Reduction::sum, infinity, -infinity)));
    EXPECT_EQ(combined(type, Reduction::max, -infinity, 3), 3);
    EXPECT_EQ(combined(type, Reduction::min, infinity, 3), 3);
  }
}

TEST(Combine, KeepsOneOfTwoZeros) {
  for (const ElementType type : floats) {
    for (const Reduction op : {Reduction::max, Reduction::min}) {
      EXPECT_EQ(combined(type, op, 0.0, -0.0), 0.0) << to_string(type);
    }
  }
}

TEST(Combine, TellsSignsOfNumbers) {
  for (const ElementType type : element_types) {
    if (type == ElementType::u8) continue;
    EXPECT_EQ(combined(type, Reduction::max, -5, 3), 3) << to_string(type);
    EXPECT_EQ(combined(type, Reduction::min, -5, 3), -5) << to_string(type);
    EXPECT_EQ(combined(type, Reduction::max, -5, -3), -3) << to_string(type);
  }
}

TEST(Combine, RefusesSidesOfDifferentSizes) {
  std::vector<std::byte> accumulated(8);
  EXPECT_THROW(combine(ElementType::f32, Reduction::sum, std::vector<std::byte>(4), accumulated),
               std::logic_error);
  std::vector<std::byte> odd(6);
  EXPECT_THROW(combine(ElementType::f32, Reduction::sum, std::vector<std::byte>(6), odd),
               std::logic_error);
}

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
