#include "model/roofline/kernels/measured_roofline.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

constexpr const char* measured_roofline_kernel =
    "convolution c64 h28 w28 k64 r3 s3 stride1 pad1 groups1";

Measurement memory(const std::string& operation, double bytes, double bandwidth) {
  Measurement measurement =
      synthetic::measured("memory",
                          {{"operation", operation},
                           {"bytes", std::to_string(static_cast<long>(bytes / 2))},
                           {"threads", "1"},
                           {"ranks", "1"},
                           {"ranks_on_node", "1"}},
                          bytes / bandwidth);
  measurement.work = Work{Flops(0), Bytes(bytes)};
  return measurement;
}

std::vector<ResultFile> two_levels() {
  Measurement product = synthetic::measured(
      "gemm", {{"threads", "1"}, {"ranks_on_node", "1"}, {"dtype", "f32"}}, 1e-3);
  product.work = Work{Flops(1e8), Bytes(1e3)};  // 100 GFLOP/s
  Measurement low = product;  // of another precision, whose peak is not that of f32
  low.axes["dtype"] = "bf16";
  low.work = Work{Flops(1e9), Bytes(1e3)};
  return {synthetic::file("memory.jsonl", {memory("copy", 1e5, 1e11), memory("copy", 1e6, 1e11),
                                           memory("triad", 1e8, 1e10), memory("copy", 1e9, 1e10),
                                           memory("h2d", 1e9, 1e13)}),
          synthetic::file("gemm.jsonl", {product, low})};
}

KernelSample measured_roofline_sample(convolution::Method method, double seconds) {
  return {make_case({.backend = "native", .method = method}, measured_roofline_kernel, 4, 16),
          Seconds(seconds),
          {}};
}

TEST(MeasuredRoofline, IsOfTheFastestProductsAndThePlateausOfMemory) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  EXPECT_DOUBLE_EQ(roofline.peak().si(), 1e11);
  ASSERT_EQ(roofline.levels().size(), 2);
  EXPECT_DOUBLE_EQ(roofline.levels().front().bandwidth.si(), 1e11);
  EXPECT_DOUBLE_EQ(roofline.levels().back().bandwidth.si(), 1e10);
}

TEST(MeasuredRoofline, RisesWithAnAlgorithmThatIsFasterStill) {
  const std::vector fast{measured_roofline_sample(convolution::Method::direct, 1e-6)};
  EXPECT_GT(measured_roofline(two_levels(), fast, 1).peak().si(), 1e12);
}

TEST(MeasuredRoofline, CountsNothingThatRanOnAGpu) {
  auto results = two_levels();
  Measurement product = results.back().measurements.front();
  product.axes["backend"] = "cuda";
  product.work = Work{Flops(1e11), Bytes(1e3)};
  Measurement pass = memory("copy", 1e9, 1e13);
  pass.axes["backend"] = "cuda";
  results.push_back(synthetic::file("gpu.jsonl", {product, pass}));
  const std::vector fast{
      KernelSample{make_case({.backend = "cuda", .method = convolution::Method::winograd_f4},
                             measured_roofline_kernel, 4, 16),
                   Seconds(1e-9),
                   {}}};
  const auto roofline = measured_roofline(results, fast, 1);
  EXPECT_DOUBLE_EQ(roofline.peak().si(), 1e11);
  EXPECT_DOUBLE_EQ(roofline.levels().back().bandwidth.si(), 1e10);
}

/// Of what lies in no cache every byte comes from memory, however few there are.
TEST(LeastTime, IsThatOfTheLevelInWhichTheBytesLie) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  const Work small{Flops(1e3), Bytes(1e5)};
  EXPECT_DOUBLE_EQ(least_time(roofline, small, "hot").si(), 1e5 / 1e11);
  EXPECT_DOUBLE_EQ(least_time(roofline, small, "cold").si(), 1e5 / 1e10);
  EXPECT_DOUBLE_EQ(least_time(roofline, small, "rotating").si(), 1e5 / 1e10);
}

/// What the step before has just written may lie in a cache, and the rest does not.
TEST(LeastTime, IsNotKnownBehindAProducer) {
  for (const char* cache : {"hot", "cold", "rotating"}) EXPECT_TRUE(is_bounded(cache)) << cache;
  EXPECT_FALSE(is_bounded("producer"));
}

TEST(LeastTime, IsTheSameInAllStatesOfWhatNoCacheHolds) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  const Work large{Flops(1e3), Bytes(1e9)};
  for (const char* cache : {"hot", "cold", "rotating"}) {
    EXPECT_DOUBLE_EQ(least_time(roofline, large, cache).si(), 1e9 / 1e10) << cache;
  }
}

TEST(LeastTime, IsNeverLessThanThatOfTheOperations) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  for (const char* cache : {"hot", "cold"}) {
    EXPECT_DOUBLE_EQ(least_time(roofline, {Flops(1e9), Bytes(1e5)}, cache).si(), 1e9 / 1e11);
  }
}

Measurement chains(const std::string& isa, const std::string& dtype, double rate) {
  Measurement measurement = synthetic::measured("peak",
                                                {{"operation", "fma"},
                                                 {"isa", isa},
                                                 {"dtype", dtype},
                                                 {"threads", "1"},
                                                 {"ranks_on_node", "1"}},
                                                1e-3);
  measurement.work = Work{Flops(1e-3 * rate), Bytes(0)};
  return measurement;
}

TEST(MeasuredRoofline, HasTheCeilingsOfInstructionSetsBelowItsPeak) {
  auto results = two_levels();
  results.push_back(
      synthetic::file("peak.jsonl", {chains("avx2", "f32", 6e10), chains("avx512", "f32", 1.2e11),
                                     chains("avx512", "f64", 9e11), chains("avx2", "f32", 5e10)}));
  const auto roofline = measured_roofline(results, {}, 1);
  EXPECT_DOUBLE_EQ(roofline.peak().si(), 1.2e11);
  ASSERT_EQ(roofline.ceilings().size(), 2);
  EXPECT_EQ(roofline.ceilings()[0].name, "products and convolutions");
  EXPECT_DOUBLE_EQ(roofline.ceilings()[0].rate.si(), 1e11);
  EXPECT_EQ(roofline.ceilings()[1].name, "avx2");
  EXPECT_DOUBLE_EQ(roofline.ceilings()[1].rate.si(), 6e10);
}

TEST(MeasuredRoofline, HasNoPeakOfConvolutionsBesideBenchPeak) {
  auto results = two_levels();
  results.push_back(synthetic::file("peak.jsonl", {chains("avx512", "f32", 1.2e11)}));
  const std::vector fast{measured_roofline_sample(convolution::Method::direct, 1e-6)};
  const auto roofline = measured_roofline(results, fast, 1);
  EXPECT_DOUBLE_EQ(roofline.peak().si(), 1.2e11);
  const std::vector slow{measured_roofline_sample(convolution::Method::direct, 1e-2)};
  const auto below = measured_roofline(results, slow, 1);
  EXPECT_DOUBLE_EQ(below.peak().si(), 1.2e11);
  ASSERT_EQ(below.ceilings().size(), 1);
  EXPECT_DOUBLE_EQ(below.ceilings()[0].rate.si(), 1e11);  // of the product
}

/// A cache of 10 MB, from which sets of 20 MB still come in part.
std::vector<ResultFile> with_a_fall() {
  return {
      synthetic::file("memory.jsonl", {memory("copy", 1e5, 1e11), memory("copy", 1e6, 1e11),
                                       memory("copy", 2e7, 1.2e10), memory("copy", 3e7, 1.2e10),
                                       memory("copy", 3.5e7, 1.2e10), memory("copy", 8e7, 1e10)}),
      two_levels().back()};
}

TEST(MeasuredRoofline, TakesMemoryBehindTheCacheThatTheFileTells) {
  const auto last_level = [](const std::vector<ResultFile>& results) {
    return measured_roofline(results, {}, 1).levels().back();
  };
  auto results = with_a_fall();
  EXPECT_EQ(last_level(results).name, farthest_name);
  EXPECT_DOUBLE_EQ(last_level(results).bandwidth.si(), 1.2e10);
  results.front().header.run[std::string(last_level_cache_fact)] = "10000000 B";
  EXPECT_EQ(last_level(results).name, memory_name);
  EXPECT_DOUBLE_EQ(last_level(results).bandwidth.si(), 1e10);
  results.front().header.run[std::string(last_level_cache_fact)] = "some";
  EXPECT_THROW((void)last_level(results), ConfigError);
}

TEST(MeasuredRoofline, KnowsThatAWholeSweepEndsAtFourTimesTheCache) {
  auto results = with_a_fall();  // the largest arrays have 40 MB
  const auto name = [&] { return measured_roofline(results, {}, 1).levels().back().name; };
  results.front().header.run["sizes"] = std::string("sweep");
  EXPECT_EQ(name(), memory_name);
  results.front().complete = false;  // larger ones may be missing
  EXPECT_EQ(name(), farthest_name);
  results.front().complete = true;
  results.front().header.run["sizes"] = std::string("64 KiB,40 MB");
  EXPECT_EQ(name(), farthest_name);
}

/// Of a run that a signal ended the samples so far are kept: too few, and of any speed.
TEST(MeasuredRoofline, CountsNoRowThatWasInterruptedOrIsWrong) {
  for (const Status status : {Status::interrupted, Status::wrong, Status::unsupported}) {
    auto results = two_levels();
    Measurement product = results.back().measurements.front();
    product.work = Work{Flops(1e11), Bytes(1e3)};
    Measurement isa = chains("avx512", "f32", 1e13);
    Measurement near = memory("copy", 5e5, 1e12);
    Measurement far = memory("copy", 5e8, 1e12);
    for (Measurement* row : {&product, &isa, &near, &far}) row->status = status;
    results.push_back(synthetic::file("ended.jsonl", {product, isa, near, far}));
    const auto roofline = measured_roofline(results, {}, 1);
    EXPECT_DOUBLE_EQ(roofline.peak().si(), 1e11);
    EXPECT_DOUBLE_EQ(roofline.levels().front().bandwidth.si(), 1e11);
    EXPECT_DOUBLE_EQ(roofline.levels().back().bandwidth.si(), 1e10);
  }
}

TEST(Traffic, CrossesEveryLevelUpToTheOneThatHoldsIt) {
  const HierarchicalRoofline roofline(FlopsPerSecond(1e11),
                                      {{"near", Bytes(1e5), BytesPerSecond(1e11)},
                                       {"middle", Bytes(1e7), BytesPerSecond(3e10)},
                                       {"far", Bytes(1e10), BytesPerSecond(1e10)}});
  convolution::AlgorithmWork work;
  work.stages = {{.name = "a", .bytes = Bytes(1e6), .working_set = Bytes(5e4)},
                 {.name = "b", .bytes = Bytes(2e6), .working_set = Bytes(1e6)},
                 {.name = "c", .bytes = Bytes(4e6), .working_set = Bytes(1e8)}};
  EXPECT_EQ(traffic_of(roofline, work, Bytes()),
            (std::vector<Bytes>{Bytes(7e6), Bytes(6e6), Bytes(4e6)}));
  EXPECT_EQ(traffic_of(roofline, work, Bytes(5e6)),
            (std::vector<Bytes>{Bytes(7e6), Bytes(6e6), Bytes(5e6)}));
}

/// A pass over an array with so many operations a byte.
Measurement array_pass(double intensity, double bytes, double bandwidth) {
  Measurement measurement = chains("avx2", "f32", 1);
  measurement.axes["operation"] = std::string("intensity");
  measurement.axes["bytes"] = std::to_string(static_cast<long>(bytes));
  measurement.series["time"] = make_series("s", {std::vector<double>(5, 2 * bytes / bandwidth)});
  measurement.work = Work{Flops(intensity * 2 * bytes), Bytes(2 * bytes)};
  return measurement;
}

TEST(MeasuredRoofline, TakesBothCeilingsFromSweepsOfIntensity) {
  auto results = two_levels();
  results.push_back(
      synthetic::file("peak.jsonl", {array_pass(0.0625, 1e5, 2e11), array_pass(0.0625, 1e6, 2e11),
                                     array_pass(64, 1e5, 5e9), array_pass(64, 1e6, 5e9)}));
  const auto roofline = measured_roofline(results, {}, 1);
  EXPECT_DOUBLE_EQ(roofline.peak().si(), 64 * 5e9);
  ASSERT_EQ(roofline.levels().size(), 2);
  EXPECT_DOUBLE_EQ(roofline.levels().front().bandwidth.si(), 2e11);
  EXPECT_DOUBLE_EQ(roofline.levels().back().bandwidth.si(), 1e10);
  for (Measurement& each : results.back().measurements) each.axes["threads"] = std::string("2");
  EXPECT_DOUBLE_EQ(measured_roofline(results, {}, 1).peak().si(), 1e11);
}

TEST(MeasuredRoofline, HasAPeakOfItsOwnInEachPrecision) {
  auto results = two_levels();  // with a product in bf16 of 1 TFLOP/s
  const std::vector fast{measured_roofline_sample(convolution::Method::direct, 1e-9)};  // in f32
  const auto in_bf16 = [&] { return measured_roofline(results, fast, 1, DType::bf16); };
  EXPECT_DOUBLE_EQ(in_bf16().peak().si(), 1e12);
  EXPECT_DOUBLE_EQ(in_bf16().levels().back().bandwidth.si(), 1e10);
  results.push_back(synthetic::file("peak.jsonl", {chains("avx512_bf16", "bf16", 2e12)}));
  EXPECT_DOUBLE_EQ(in_bf16().peak().si(), 2e12);
  EXPECT_THROW((void)measured_roofline(results, {}, 1, DType::f16), ConfigError);
}

TEST(MeasuredRoofline, SaysWhatIsMissing) {
  using Axes = std::map<std::string, std::string>;
  const auto lacks = [](std::vector<ResultFile> files, int threads, const std::string& benchmark,
                        const Axes& axes) {
    try {
      (void)measured_roofline(files, {}, threads);
      ADD_FAILURE() << benchmark;
    } catch (const RemediableError& error) {
      EXPECT_EQ(error.remedies.front().subject, benchmark);
      EXPECT_EQ(Axes(error.remedies.front().axes.begin(), error.remedies.front().axes.end()), axes);
    }
  };
  lacks(two_levels(), 2, "memory", {{"threads", "2"}});
  lacks({two_levels().front()}, 1, "peak", {{"dtype", "f32"}, {"threads", "1"}});
  lacks({}, 1, "memory", {{"threads", "1"}});
}

TEST(PlacedKernel, IsOnTheRoofWhereItTakesTheLeastTime) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  const KernelSample direct = measured_roofline_sample(convolution::Method::direct, 1);
  const PlacedKernel slow = place(roofline, direct);
  EXPECT_DOUBLE_EQ(slow.bound.si(), direct.what.work.flops().si() / 1e11);
  EXPECT_LT(slow.executed, slow.effective);  // which counts taps on the padding, too
  EXPECT_FALSE(slow.bound_by_memory);
  const KernelSample fast = measured_roofline_sample(convolution::Method::direct, slow.bound.si());
  const PlacedKernel best = place(roofline, fast);
  EXPECT_DOUBLE_EQ(best.share().value_or(0), 1);
  EXPECT_DOUBLE_EQ(best.executed.si(), 1e11);
}

TEST(PlacedKernel, IsBoundLessWhereItsStagesCouldOverlap) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  const KernelSample measured = measured_roofline_sample(convolution::Method::im2col, 1e-1);
  const PlacedKernel placed = place(roofline, measured);
  EXPECT_LT(placed.overlapped_bound, placed.bound);
  EXPECT_GE(placed.overlapped_bound, measured.what.work.flops() / roofline.peak());
  EXPECT_EQ(placed.source, 1);
}

TEST(PlacedKernel, MovesTensorsThatLieInNoCacheFromMemory) {
  // A product of few operations, all of whose bytes fit into the nearest level.
  constexpr const char* small = "convolution c64 h4 w4 k64 r1 s1 stride1 pad0 groups1";
  const auto by_cache = [](const char* cache) {
    return KernelSample{
        make_case({.backend = "onednn", .method = convolution::Method::direct, .cache = cache},
                  small, 1, 16),
        Seconds(1e-3),
        {}};
  };
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  const KernelSample cold = by_cache("cold");
  const PlacedKernel placed = place(roofline, cold);
  EXPECT_DOUBLE_EQ(placed.bound.si(), least_bytes(cold.what.shape).si() / 1e10);
  EXPECT_LE(placed.overlapped_bound, placed.bound);
  EXPECT_TRUE(placed.bound_by_memory);
  const KernelSample hot = by_cache("hot");
  const PlacedKernel near = place(roofline, hot);
  EXPECT_LT(near.bound, placed.bound);
  EXPECT_LE(near.overlapped_bound, near.bound);
}

TEST(PlacedKernel, TellsExecutedFromEffectiveSpeed) {
  const KernelSample measured = measured_roofline_sample(convolution::Method::winograd_f4, 1e-1);
  const PlacedKernel winograd = place(measured_roofline(two_levels(), {}, 1), measured);
  EXPECT_GT(winograd.effective, 2 * winograd.executed);
  EXPECT_LT(winograd.share().value_or(2), 1);
  EXPECT_GT(winograd.share().value_or(0), 0);
}

TEST(PlacedKernel, HasNoShareWhereTheBlocksOfALibraryAreUnknown) {
  const auto roofline = measured_roofline(two_levels(), {}, 1);
  const auto has_share = [&](const char* backend, convolution::Method method) {
    const KernelSample measured{
        make_case({.backend = backend, .method = method}, measured_roofline_kernel, 4, 16),
        Seconds(1e-1),
        {}};
    return place(roofline, measured).share().has_value();
  };
  EXPECT_TRUE(has_share("onednn", convolution::Method::direct));
  EXPECT_FALSE(has_share("onednn", convolution::Method::im2col));
  EXPECT_FALSE(has_share("onednn", convolution::Method::winograd_f4));
  EXPECT_TRUE(has_share("native", convolution::Method::im2col));
  EXPECT_TRUE(has_share("native", convolution::Method::winograd_f4));
}

}  // namespace
}  // namespace dlscale::model
