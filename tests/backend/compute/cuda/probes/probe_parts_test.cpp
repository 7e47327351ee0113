#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>

#include "backend/compute/cuda/probes/array_pass.hpp"
#include "backend/compute/cuda/probes/banks.hpp"
#include "backend/compute/cuda/probes/cycle.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

TEST(SingleCycle, MeetsEveryNodeOnceBeforeItIsBack) {
  for (const std::size_t nodes : {1, 2, 3, 7, 64, 1000, 4097}) {
    const std::vector<std::uint32_t> next = single_cycle(nodes, 5);
    std::set<std::uint32_t> seen;
    std::uint32_t at = 0;
    for (std::size_t step = 0; step < nodes; ++step) {
      seen.insert(at);
      at = next[at];
    }
    EXPECT_EQ(seen.size(), nodes);
    EXPECT_EQ(at, 0U) << nodes;
  }
}

TEST(SingleCycle, IsRandomAndRepeatable) {
  EXPECT_EQ(single_cycle(100, 1), single_cycle(100, 1));
  EXPECT_NE(single_cycle(100, 1), single_cycle(100, 2));
}

/// Of the two cycles of three nodes each comes up for about half of the seeds.
TEST(SingleCycle, FavoursNoCycle) {
  int up = 0;
  constexpr int seeds = 2000;
  for (int seed = 0; seed < seeds; ++seed) up += single_cycle(3, seed)[0] == 1 ? 1 : 0;
  EXPECT_NEAR(up, 0.5 * seeds, 150);  // more than six standard deviations
}

TEST(ChaseImage, LeadsThroughAllAddressesAStrideApart) {
  constexpr ChaseSpec spec{.bytes = 6400, .stride = 128, .path = ChasePath::all_caches};
  const std::vector<std::uint32_t> image = chase_image(spec, 3);
  ASSERT_EQ(image.size(), 128U * 50 / 4);
  std::set<std::uint32_t> seen;
  for (std::uint32_t step = 0; step < 50; ++step) seen.insert(follow(image, 0, step));
  EXPECT_EQ(seen.size(), 50U);
  for (const std::uint32_t word : seen) EXPECT_EQ(word % 32, 0U);
  EXPECT_EQ(*seen.rbegin(), 49U * 32);
  EXPECT_EQ(follow(image, 0, 50), 0U);
}

TEST(ChaseImage, LeavesARestThatHoldsNoWholeStride) {
  constexpr ChaseSpec spec{.bytes = 1000, .stride = 96, .path = ChasePath::all_caches};
  EXPECT_EQ(chase_nodes(spec), 10U);
  const std::vector<std::uint32_t> image = chase_image(spec, 3);
  EXPECT_EQ(image.size(), 250U);
  EXPECT_EQ(follow(image, 0, 10), 0U);
}

TEST(ChaseImage, ShowsVisitsThatAreNotItsOwn) {
  constexpr ChaseSpec spec{.bytes = 4096, .stride = 64, .path = ChasePath::all_caches};
  const std::vector<std::uint32_t> image = chase_image(spec, 3);
  std::vector<std::uint32_t> visited;
  for (std::size_t step = 1; step <= 100; ++step) visited.push_back(follow(image, 32, step));
  EXPECT_EQ(wrong_visits(image, 32, visited), 0U);
  EXPECT_EQ(wrong_visits(image, 48, visited), 100U);
  std::swap(visited[10], visited[11]);
  EXPECT_EQ(wrong_visits(image, 32, visited), 2U);
}

std::string refusal(const ChaseSpec& spec) {
  try {
    check(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ChaseSpec, IsRefusedWhereThereIsNothingToChase) {
  constexpr ChasePath path = ChasePath::all_caches;
  EXPECT_EQ(refusal({.bytes = 256, .stride = 128, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 128, .stride = 128, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 4096, .stride = 0, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 4096, .stride = 6, .path = path}), "");
  EXPECT_NE(refusal({.bytes = 4098, .stride = 4, .path = path}), "");
  EXPECT_NE(refusal({.bytes = std::size_t{16} << 30, .stride = 128, .path = path}), "");
  EXPECT_EQ(refusal({.bytes = (std::size_t{16} << 30) - 128, .stride = 128, .path = path}), "");
}

TEST(BankConflicts, AreAsManyAsTheStrideHasFactorsInCommonWithTheBanks) {
  for (std::uint32_t stride = 1; stride <= most_bank_stride; ++stride) {
    EXPECT_EQ(conflict_ways(stride), static_cast<int>(std::gcd(stride, memory_banks))) << stride;
  }
}

TEST(BankRing, LeadsEveryThreadRoundTheSameWords) {
  for (const std::uint32_t stride : {1U, 3U, 32U, 64U}) {
    const BankRing ring{stride};
    for (const std::uint32_t step : {0U, 1U, 31U, 4096U}) {
      std::set<std::uint32_t> words;
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) words.insert(ring.word(lane, step));
      EXPECT_EQ(words.size(), warp_lanes);
      EXPECT_LT(*words.rbegin(), bank_words);
      EXPECT_EQ(*words.rbegin(), 31 * stride);
    }
    EXPECT_EQ(ring.word(5, 1), ring.word(6, 0));
    EXPECT_EQ(ring.word(31, 1), 0U);
  }
}

/// What run_passes() makes the device do, on the host.
template <ArrayPass pass>
std::vector<double> pass_over(std::size_t n) {
  std::vector<double> a(n);
  std::vector<double> b(n);
  std::vector<double> out(n, -1e9);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = first_input(i);
    b[i] = second_input(i);
  }
  using Code = PassCode<pass>;
  const Code code{a.data(), reads_two(pass) ? b.data() : nullptr, out.data()};
  for (std::size_t pack = 0; pack < n / Code::width; ++pack) code(pack);
  return out;
}

template <ArrayPass pass>
void expect_exact() {
  const std::vector<double> out = pass_over<pass>(8 * 321);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], expected_output(pass, i)) << i;
}

TEST(ArrayPasses, AreExactOnEveryElement) {
  expect_exact<ArrayPass::copy>();
  expect_exact<ArrayPass::scale>();
  expect_exact<ArrayPass::add>();
  expect_exact<ArrayPass::triad>();
}

TEST(ArrayPasses, DifferFromEachOther) {
  constexpr std::size_t i = 1;  // a = 2, b = -62
  EXPECT_EQ(expected_output(ArrayPass::copy, i), 2);
  EXPECT_EQ(expected_output(ArrayPass::scale, i), 6);
  EXPECT_EQ(expected_output(ArrayPass::add, i), -60);
  EXPECT_EQ(expected_output(ArrayPass::triad, i), -184);
}

TEST(ArrayPasses, AreRepeatedOverSmallArrays) {
  EXPECT_EQ(passes_for(64), 1024);
  EXPECT_EQ(passes_for(std::size_t{16} << 20), 16);
  EXPECT_EQ(passes_for(std::size_t{256} << 20), 1);
  EXPECT_EQ(passes_for(std::size_t{1} << 30), 1);
}

TEST(Pattern, IsKnownAgainWithAnyLength) {
  for (const std::size_t bytes : {0, 1, 7, 8, 9, 64, 1001}) {
    std::vector<std::byte> memory(bytes);
    fill_pattern(memory, 7);
    EXPECT_EQ(wrong_bytes(memory, 7), 0U) << bytes;
  }
}

TEST(Pattern, ShowsEveryByteThatIsWrong) {
  std::vector<std::byte> memory(1001);
  fill_pattern(memory, 7);
  for (const std::size_t i : {0, 500, 1000}) memory[i] ^= std::byte{1};
  EXPECT_EQ(wrong_bytes(memory, 7), 3U);
}

TEST(Pattern, LooksLikeNoOtherAndLikeNoPartOfItself) {
  std::vector<std::byte> memory(4096);
  EXPECT_GT(wrong_bytes(memory, 7), 4000U);  // zeros
  fill_pattern(memory, 7);
  EXPECT_GT(wrong_bytes(memory, 8), 4000U);
  std::vector<std::byte> shifted(memory.begin() + 8, memory.end());
  EXPECT_GT(wrong_bytes(shifted, 7), 4000U);
}

}  // namespace
}  // namespace dlscale::backend::cuda
