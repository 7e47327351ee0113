/// The benchmark of the processor's arithmetic.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "backend/host/host.hpp"
#include "backend/host/simd/kernels.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/host_peak.hpp"
#include "bench/memory/host/team.hpp"
#include "tests/bench/engine/quick.hpp"
#include "tests/train/data/message.hpp"

namespace dlscale::bench {
namespace {

using backend::simd::PeakKernel;
using train::config_error;
using train::contains;

std::vector<Cell> peak_cells(std::map<std::string, std::string> values) {
  const auto group = backend::local_group(1);
  const Benchmark* benchmark = family<Benchmark>().find("peak");
  Context context = make_context(*benchmark, std::move(values), *group.front());
  return benchmark->cells(context);
}

Measurement measured(const Cell& cell) {
  const auto group = backend::local_group(1);
  return cell.measure(Sampler(*group.front(), quick));
}

TEST(BenchPeak, IsRightOrSaysWhyItCannot) {
  const auto found = peak_cells({{"operations", "fma"}});
  EXPECT_FALSE(found.empty());
  for (const Cell& cell : found) {
    const Measurement result = measured(cell);
    EXPECT_NE(result.status, Status::wrong) << result.reason;
    if (result.status == Status::unsupported) {
      EXPECT_FALSE(result.reason.empty());
      continue;
    }
    EXPECT_GT(result.work->flops.si(), 65536);
    EXPECT_EQ(result.at("time").samples.front().size(), 2U);
  }
}

TEST(BenchPeak, CountsTheOperationsOfAllThreads) {
  for (const PeakKernel& kernel : backend::simd::peak_kernels()) {
    const auto group = backend::local_group(1);
    const Measurement result = measure_peak(kernel, 2, Sampler(*group.front(), quick));
    EXPECT_EQ(result.work->flops.si(), 2 * 65536 * kernel.flops);
  }
}

TEST(BenchPeak, TakesTheMeanOfManyPassesOfWhatIsShort) {
  static std::atomic<int> runs = 0;
  const auto count = [](std::int64_t) {
    ++runs;
    return 0.0;
  };
  const PeakKernel kernel{"none", "f32", 4, count, 1e-7};
  const auto group = backend::local_group(1);
  const Measurement result = measure_peak(kernel, 1, Sampler(*group.front(), quick));
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_EQ(result.work->flops.si(), 65536 * 4);
  EXPECT_GT(runs.load(), 100) << "a pass of nothing is not a sample of a millisecond";
}

TEST(BenchPeak, GivesNoTimeToWhatIsWrong) {
  const auto group = backend::local_group(1);
  const Sampler sampler(*group.front(), quick);
  PeakKernel kernel{"none", "f32", 4, [](std::int64_t) { return 0.5; }, 1e-7};
  EXPECT_EQ(measure_peak(kernel, 1, sampler).status, Status::wrong);
  EXPECT_TRUE(measure_peak(kernel, 1, sampler).series.empty());
  kernel.run = [](std::int64_t) { return std::nan(""); };
  EXPECT_EQ(measure_peak(kernel, 1, sampler).status, Status::wrong);
  kernel.run = [](std::int64_t rounds) { return rounds > 1000 ? 1.0 : 0.0; };  // only when timed
  EXPECT_EQ(measure_peak(kernel, 1, sampler).status, Status::wrong);
}

TEST(PeakKernels, HaveResultsThatTellOneRoundFromTwo) {
  for (const PeakKernel& kernel : backend::simd::peak_kernels()) {
    for (const std::int64_t rounds : {1, 2, 1000}) {
      EXPECT_LE(kernel.run(rounds), kernel.rounding * static_cast<double>(rounds)) << kernel.isa;
    }
  }
}

TEST(BenchPeak, ComputesBetweenLoadsAndStores) {
  for (const auto& kernels : backend::simd::array_kernels()) {
    for (const char* dtype : {"f32", "f64"}) {
      for (const double intensity : {0.0625, 0.1875, 4.0}) {
        for (const std::size_t bytes : {64U, 8000U}) {
          const auto group = backend::local_group(1);
          const Measurement result =
              measure_intensity({std::string(kernels.isa), dtype, bytes, intensity},
                                bytes > 64 ? 2 : 1, Sampler(*group.front(), quick));
          const double each = intensity * 2 * (dtype == std::string("f32") ? 4 : 8);
          if (each != std::floor(each)) {
            EXPECT_EQ(result.status, Status::unsupported);
            continue;
          }
          ASSERT_NE(result.status, Status::wrong) << result.reason << " " << kernels.isa;
          EXPECT_DOUBLE_EQ(result.work->flops.si() / result.work->bytes.si(), intensity);
        }
      }
    }
  }
}

TEST(BenchPeak, HasRowsForWhatWasNamed) {
  const std::string isa(backend::simd::known_instruction_sets().front());
  const auto found = peak_cells({{"operations", "fma"}, {"isa", isa}, {"dtype", "bf16,f32"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(measured(found[0]).status, Status::unsupported);
  const auto arrays = peak_cells({{"operations", "intensity"},
                                  {"isa", isa},
                                  {"dtype", "bf16"},
                                  {"sizes", "4 KiB"},
                                  {"intensities", "1"}});
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_EQ(measured(arrays[0]).status, Status::unsupported);
}

std::vector<Cell> products(const std::string& backend, const std::string& threads) {
  return peak_cells({{"operations", "gemm"},
                     {"products", "33x33x33"},
                     {"backend", backend},
                     {"threads", threads}});
}

TEST(BenchPeak, MultipliesMatricesByALibraryToCompareWith) {
  const auto found = products("reference", "1");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].axes,
            (std::map<std::string, std::string>{{"operation", "gemm"},
                                                {"backend", "reference"},
                                                {"kernel", "gemm m33 n33 k33 ta0 tb0"},
                                                {"dtype", "f32"},
                                                {"threads", "1"},
                                                {"ranks", "1"},
                                                {"ranks_on_node", "1"}}));
  const Measurement product = measured(found[0]);
  EXPECT_EQ(product.status, Status::ok) << product.reason;
  EXPECT_EQ(product.work->flops.si(), 2.0 * 33 * 33 * 33);
  EXPECT_TRUE(product.max_relative_error.has_value());
  for (const std::size_t without : {1U, 2U}) {  // f64 and bf16
    EXPECT_EQ(measured(found[without]).status, Status::unsupported);
    EXPECT_TRUE(contains(measured(found[without]).reason, found[without].axes.at("dtype")));
  }
}

TEST(BenchPeak, HasRowsForALibraryThatCannot) {
  const Measurement row = measured(products("reference", "2").front());
  EXPECT_EQ(row.status, Status::unsupported);
  EXPECT_TRUE(contains(row.reason, "1 thread")) << row.reason;
}

TEST(BenchPeak, WarnsOfMoreThreadsThanCores) {
  const auto more = std::to_string(backend::usable_cores().size() + 1);
  const std::string isa(backend::simd::known_instruction_sets().front());
  const auto found = peak_cells({{"operations", "fma,intensity"},
                                 {"isa", isa},
                                 {"dtype", "f32"},
                                 {"sizes", "4 KiB"},
                                 {"intensities", "1"},
                                 {"threads", more}});
  ASSERT_EQ(found.size(), 2U);
  for (const Cell& cell : found) {
    const Measurement result = measured(cell);
    if (result.status == Status::unsupported) GTEST_SKIP() << result.reason;
    EXPECT_TRUE(contains(result.warnings.back(), "cores are to be busy"));
  }
}

TEST(BenchPeak, HasNoCellTwice) {
  const std::string isa(backend::simd::known_instruction_sets().front());
  std::set<std::map<std::string, std::string>> axes;
  const auto found = peak_cells({{"operations", "fma,intensity"},
                                 {"isa", "all," + isa},
                                 {"sizes", "4 KiB,8 KiB"},
                                 {"threads", "1,2"}});
  for (const Cell& cell : found) axes.insert(cell.axes);
  EXPECT_EQ(axes.size(), found.size());
}

TEST(BenchPeak, RefusesWhatItCannotMeasure) {
  const auto refusal = [](const std::map<std::string, std::string>& values) {
    return config_error([&] { peak_cells(values); });
  };
  const auto of_arrays = [&](const std::string& intensities) {
    return refusal({{"operations", "intensity"}, {"intensities", intensities}, {"sizes", "4 KiB"}});
  };
  EXPECT_TRUE(contains(refusal({{"operations", "gemv"}}), "fma"));
  EXPECT_TRUE(contains(refusal({{"products", "64x64"}}), "--products"));
  EXPECT_TRUE(contains(refusal({{"backend", "abacus"}}), "abacus"));
  EXPECT_TRUE(contains(refusal({{"isa", "mmx"}}), "mmx"));
  EXPECT_TRUE(contains(refusal({{"dtype", "f8"}}), "bf16"));
  EXPECT_TRUE(contains(refusal({{"operations", "gemm"}, {"isa", "avx2"}}), "--isa has no effect"));
  EXPECT_TRUE(contains(refusal({{"sizes", "4 KiB"}}), "add intensity there"));
  EXPECT_TRUE(contains(refusal({{"operations", "fma"}, {"backend", "onednn"}}), "--backend"));
  for (const char* bad : {"0", "-1", "2000", "nan", "one", "1x"}) {
    EXPECT_TRUE(contains(of_arrays(bad), "intensities")) << bad;
  }
}

/// Of one rank on which a pass takes so long.
int passes_of(Seconds pass) {
  const auto group = backend::local_group(1);
  return passes_for(*group.front(), [pass](int) { return pass; });
}

TEST(Passes, LastAMillisecondTogether) {
  for (const double pass : {1e-9, 4e-6, 3e-5, 4e-4, 1e-3, 2.0}) {
    const int passes = passes_of(Seconds(pass));
    EXPECT_GE(passes * pass, least_sample.si()) << pass;
    EXPECT_TRUE(passes == 1 || passes / 2 * pass < least_sample.si()) << pass;
  }
}

TEST(Passes, AreMoreWhereMoreThreadsShareTheArray) {
  EXPECT_EQ(passes_of(Seconds(4e-6 / 8)), 8 * passes_of(Seconds(4e-6)));
}

/// An interruption of 5 ms in one sample of three.
TEST(Passes, AreNotFewerForAnInterruption) {
  const auto group = backend::local_group(1);
  int samples = 0;
  const int passes = passes_for(*group.front(), [&](int count) {
    const double interruption = ++samples % 3 == 0 ? 5e-3 : 0;
    return Seconds(4e-6 + interruption / count);
  });
  EXPECT_EQ(passes, passes_of(Seconds(4e-6)));
}

TEST(Passes, EndWhereThereIsNothingToTime) {
  EXPECT_EQ(passes_of(Seconds(0)), 1 << 30);
}

TEST(Passes, AreThoseOfTheFastestRankOnAll) {
  const auto group = backend::local_group(3);
  std::vector<int> passes(group.size());
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(passes.size());
    for (std::size_t rank = 0; rank < passes.size(); ++rank) {
      ranks.emplace_back([&, rank] {
        const Seconds pass(rank == 1 ? 1e-6 : 1e-4);
        passes[rank] = passes_for(*group[rank], [pass](int) { return pass; });
      });
    }
  }
  EXPECT_EQ(passes, std::vector<int>(group.size(), passes_of(Seconds(1e-6))));
}

}  // namespace
}  // namespace dlscale::bench
