#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/host_latency.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "core/base/units.hpp"
#include "tests/train/data/message.hpp"

/// The benchmark of the host's latencies.
namespace dlscale::bench {
namespace {

using backend::PageSize;
using train::config_error;
using train::contains;

constexpr StoppingCriterion quick{.relative_half_width = 100,
                                  .min_samples = 3,
                                  .max_samples = 3,
                                  .max_time = Seconds(0),
                                  .min_warmup = Seconds(0),
                                  .min_warmups = 2};

std::vector<Cell> cells(std::map<std::string, std::string> values) {
  const auto group = backend::local_group(1);
  const Benchmark* benchmark = family<Benchmark>().find("latency");
  Context context = make_context(*benchmark, std::move(values), *group.front());
  return benchmark->cells(context);
}

TEST(BenchLatency, HasACellForEveryCombinationThatConcernsAnOperation) {
  EXPECT_EQ(
      cells({{"operations", "chase"}, {"chase_sizes", "4 KiB,8 KiB"}, {"strides", "64 B,128 B"}})
          .size(),
      2U * 2 * 2);
  EXPECT_EQ(cells({{"operations", "levels"}, {"pages", "small"}}).size(), 1U);
  EXPECT_EQ(cells({{"operations", "line,page_reach"}}).size(), 4U);
}

/// The first rows come at once, whatever a machine says of its caches.
TEST(BenchLatency, BeginsWithTheSmallestSets) {
  EXPECT_EQ(family<Benchmark>().find("latency")->order, Benchmark::Order::as_made);
  const auto found = cells({{"chase_sizes", "4 MiB,16 KiB,256 KiB"}});
  std::vector<std::string> sizes;
  for (const Cell& cell : found) {
    if (cell.axes.at("operation") == "chase") sizes.push_back(cell.axes.at("bytes"));
  }
  EXPECT_EQ(sizes, (std::vector<std::string>{"16384", "16384", "262144", "262144", "4194304",
                                             "4194304"}));
  EXPECT_EQ(found.front().axes.at("operation"), "chase");
}

TEST(BenchLatency, BoundsWhatItChasesWhereAHypervisorClaimsAHugeCache) {
  struct Claim {
    Bytes cache;
    std::size_t chased;
  };
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  for (const Claim& claim : std::initializer_list<Claim>{{Bytes(0), 0},
                                                         {32_MiB, 128 * mebibyte},
                                                         {256_MiB, 1024 * mebibyte},
                                                         {480_MiB, 1024 * mebibyte},
                                                         {504_MiB, 1024 * mebibyte},
                                                         {16384_MiB, 1024 * mebibyte}}) {
    EXPECT_EQ(chased_beyond_caches(claim.cache), claim.chased) << claim.cache.si();
  }
}

TEST(BenchLatency, NamesWhatACellIs) {
  const auto found = cells({{"operations", "chase"}, {"chase_sizes", "4 KiB"}, {"pages", "small"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].axes, (std::map<std::string, std::string>{{"operation", "chase"},
                                                               {"bytes", "4096"},
                                                               {"stride", "64"},
                                                               {"pages", "small"},
                                                               {"ranks", "1"},
                                                               {"ranks_on_node", "1"}}));
}

TEST(BenchLatency, RefusesWhatItCannotMeasure) {
  const auto refusal = [](const std::map<std::string, std::string>& values) {
    return config_error([&] { cells(values); });
  };
  EXPECT_TRUE(contains(refusal({{"operations", "chases"}}), "chase"));
  EXPECT_TRUE(contains(refusal({{"operations", "levels"}, {"chase_sizes", "4 KiB"}}),
                       "--chase-sizes has no effect"));
  EXPECT_TRUE(contains(refusal({{"pages", "gigantic"}}), "huge"));
  EXPECT_TRUE(contains(refusal({{"strides", "4 B"}}), "less than 8 B"));
  EXPECT_TRUE(contains(refusal({{"strides", "0 B"}}), "above 0"));
  EXPECT_TRUE(contains(refusal({{"chase_sizes", "100 B"}}), "64 B each"));
  EXPECT_TRUE(contains(refusal({{"chase_sizes", "64 B"}}), "two strides"));
  EXPECT_TRUE(contains(refusal({{"chase_sizes", "9000 GiB"}}), "memory"));
  const std::string far = refusal({{"operations", "levels"}, {"strides", "64 B,9000 GiB"}});
  EXPECT_TRUE(contains(far, "--strides has 8.79 TiB")) << far;
  EXPECT_TRUE(contains(far, "Choose strides up to ")) << far;
}

TEST(BenchLatency, KeepsTheCyclesAndTheClockOfEverySample) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(2);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        results[rank] =
            measure_host_chase({.bytes = 8192, .stride = 64}, Sampler(*group[rank], quick));
      });
    }
  }
  for (const Measurement& result : results) {
    EXPECT_EQ(result.max_relative_error, 0);
    for (const char* name : {"time", "cycles", "core_clock"}) {
      ASSERT_EQ(result.at(name).samples.size(), 2U) << name;
      EXPECT_EQ(result.at(name).samples[1].size(), 3U) << name;
      for (const double value : result.at(name).samples[1]) EXPECT_GT(value, 0) << name;
    }
    const double cycles = result.at("time").samples[0][2] * result.at("core_clock").samples[0][2];
    EXPECT_DOUBLE_EQ(result.at("cycles").samples[0][2], cycles);
  }
}

TEST(BenchLatency, LooksForTheLineByDistances) {
  const auto group = backend::local_group(1);
  const Measurement result = measure_line_size(PageSize::small, Sampler(*group.front(), quick));
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_EQ(result.at("distance").samples.front(),
            (std::vector<double>{8, 16, 32, 64, 128, 256, 512}));
  EXPECT_EQ(result.at("latency").samples.front().size(), 7U);
}

/// A report gathers warnings by their text.
TEST(BenchLatency, CountsWhatWasInterruptedBesideAWarningThatIsAlwaysTheSame) {
  const auto group = backend::local_group(1);
  const Measurement result = measure_line_size(PageSize::small, Sampler(*group.front(), quick));
  std::smatch counts;
  ASSERT_TRUE(std::regex_search(
      result.implementation, counts,
      std::regex("^pairs of accesses, 72 pieces of 4096 accesses at most of each distance, the "
                 "system interrupted ([0-9]+) of all ([0-9]+)")))
      << result.implementation;
  const int interrupted = std::stoi(counts[1]);
  EXPECT_LE(interrupted, std::stoi(counts[2]));
  EXPECT_GE(std::stoi(counts[2]), 7 * 9) << "of each distance 9 pieces at least";
  const auto said = std::ranges::count_if(result.warnings, [](const std::string& warning) {
    return warning.starts_with("the system interrupted pieces of the chases (");
  });
  EXPECT_EQ(said, interrupted > 0 ? 1 : 0);
}

TEST(BenchLatency, SaysWhyThereAreNoHugePages) {
  const auto group = backend::local_group(1);
  const Measurement result = measure_host_chase(
      {.bytes = 8192, .stride = 64, .pages = PageSize::huge}, Sampler(*group.front(), quick));
  EXPECT_TRUE(result.status != Status::unsupported || contains(result.reason, "huge"));
}

}  // namespace
}  // namespace dlscale::bench
