#include "bench/comm/traffic/test_numbers.hpp"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/comm/traffic/stragglers.hpp"
#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"

namespace dlscale::bench {
namespace {

using backend::ElementType;
using backend::Reduction;
using testing::HasSubstr;

std::vector<std::byte> sequence(const TestNumbers& numbers, ElementType type, Rank rank,
                                std::size_t first, std::size_t count) {
  std::vector<std::byte> bytes(count * size_of(type));
  numbers.write(rank, first, bytes);
  return bytes;
}

TEST(TestNumbers, ReduceExactlyInEveryTypeWhateverTheOrder) {
  constexpr int ranks = 60;
  constexpr std::size_t count = 3000;
  for (const ElementType type : backend::element_types) {
    for (const Reduction op : backend::reductions) {
      const TestNumbers numbers(type, op, ranks);
      auto upwards = sequence(numbers, type, 0, 5, count);
      for (Rank rank = 1; rank < ranks; ++rank) {
        combine(type, op, sequence(numbers, type, rank, 5, count), upwards);
      }
      auto downwards = sequence(numbers, type, ranks - 1, 5, count);
      for (Rank rank = ranks - 2; rank >= 0; --rank) {
        combine(type, op, sequence(numbers, type, rank, 5, count), downwards);
      }
      EXPECT_EQ(numbers.compare_reduced(5, upwards).wrong, 0) << to_string(type);
      EXPECT_EQ(numbers.compare_reduced(5, downwards).wrong, 0) << to_string(type);
    }
  }
}

TEST(TestNumbers, TellRanksAndPlacesApart) {
  const TestNumbers numbers(ElementType::f32);
  constexpr std::size_t count = 2000;
  const auto mine = sequence(numbers, ElementType::f32, 1, 7, count);
  EXPECT_EQ(numbers.compare(1, 7, mine).wrong, 0);
  EXPECT_GT(numbers.compare(0, 7, mine).wrong, static_cast<std::int64_t>(count * 9 / 10));
  EXPECT_GT(numbers.compare(2, 7, mine).wrong, static_cast<std::int64_t>(count * 9 / 10));
  EXPECT_GT(numbers.compare(1, 8, mine).wrong, static_cast<std::int64_t>(count * 9 / 10));
}

TEST(TestNumbers, TellTheFirstWrongElementAndHowMany) {
  const TestNumbers numbers(ElementType::i32);
  auto mine = sequence(numbers, ElementType::i32, 3, 0, 1500);
  for (const std::size_t at : {std::size_t{1100}, std::size_t{1400}}) {
    write_element(ElementType::i32, 1000, mine.data() + at * 4);
  }
  const Mismatch found = numbers.compare(3, 0, mine);
  EXPECT_EQ(found.wrong, 2);
  EXPECT_EQ(found.index, 1100);
  EXPECT_EQ(found.value, 1000);
  EXPECT_LT(found.expected, 251);
}

TEST(TestNumbers, AreNeverWhatUntouchedMemoryHolds) {
  for (const ElementType type : backend::element_types) {
    const TestNumbers numbers(type, Reduction::sum, 3);
    const std::vector<std::byte> untouched(2000 * size_of(type), std::byte{0xFF});
    EXPECT_EQ(numbers.compare_reduced(0, untouched).wrong, 2000) << to_string(type);
    EXPECT_EQ(numbers.compare(0, 0, untouched).wrong, 2000) << to_string(type);
  }
}

TEST(TestNumbers, AreRefusedWhereTheirSumWouldNotBeExact) {
  EXPECT_NO_THROW(TestNumbers(ElementType::bf16, Reduction::sum, 256));
  EXPECT_THROW(TestNumbers(ElementType::bf16, Reduction::sum, 257), Unsupported);
  EXPECT_NO_THROW(TestNumbers(ElementType::bf16, Reduction::max, 257));
  EXPECT_THROW(TestNumbers(ElementType::u8, Reduction::sum, 255), Unsupported);
  EXPECT_NO_THROW(TestNumbers(ElementType::f16, Reduction::sum, 257));
}

TEST(Mismatches, AreJoinedInTheOrderOfTheMessage) {
  const Mismatch none;
  const Mismatch two{2, 5, 1.0, 0.0};
  EXPECT_EQ(join(none, none, 10).wrong, 0);
  EXPECT_EQ(join(none, two, 10).index, 15);
  EXPECT_EQ(join(two, none, 10).index, 5);
  EXPECT_EQ(join(two, two, 10).wrong, 4);
  EXPECT_EQ(join(two, two, 10).index, 5);
}

TEST(SharedVerdict, NamesTheFirstWrongRankOnAllOfThem) {
  backend::run_on_threads(3, [](backend::Communicator& ranks) {
    EXPECT_EQ(shared_verdict(ranks, {}), "");
    const Mismatch mine = ranks.rank() == 0 ? Mismatch{} : Mismatch{4, ranks.rank(), 1.5, 2.5};
    EXPECT_EQ(shared_verdict(ranks, mine),
              "wrong on 2 of 3 ranks; rank 1: 4 elements, the first is [1], 1.5 instead of 2.5");
  });
}

std::vector<double> equal_times(double value) {
  std::vector<double> result(20, value);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += 1e-3 * static_cast<double>(i);
  return result;
}

TEST(Stragglers, AreNamedIfTheyAreAlwaysLast) {
  const auto warnings = straggler_warnings({equal_times(1.0), equal_times(1.0), equal_times(1.2)});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings.front(), HasSubstr("rank 2 is last in 100 % of the samples, by 17 %"));
}

TEST(Stragglers, AreNoneWhereRanksTakeTurnsOrDifferByLittle) {
  auto first = equal_times(1.0);
  auto second = equal_times(1.0);
  for (std::size_t i = 0; i < first.size(); ++i) (i % 4 == 0 ? first : second)[i] *= 1.5;
  EXPECT_TRUE(straggler_warnings({first, second}).empty());
  EXPECT_TRUE(straggler_warnings({equal_times(1.0), equal_times(1.02)}).empty());
  EXPECT_TRUE(straggler_warnings({equal_times(1.0)}).empty());
  EXPECT_TRUE(straggler_warnings({{1, 1, 1}, {2, 2, 2}}).empty());
}

}  // namespace
}  // namespace dlscale::bench
