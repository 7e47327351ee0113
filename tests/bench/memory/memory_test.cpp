#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/input_copy.hpp"
#include "bench/memory/stream_operations.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/train/data/message.hpp"

namespace dlscale::bench {
namespace {

using train::config_error;
using train::contains;

using AxesList = std::vector<std::map<std::string, std::string>>;

StoppingCriterion few_samples() {
  return {.relative_half_width = 0.02,
          .min_samples = 3,
          .max_samples = 3,
          .max_time = Seconds(10),
          .min_warmup = Seconds(0),
          .min_warmups = 1};
}

AxesList axes_of_cells(std::map<std::string, std::string> values) {
  const Benchmark* benchmark = family<Benchmark>().find("memory");
  auto group = backend::local_group(1);
  Context context = make_context(*benchmark, std::move(values), *group.front());
  if (!context.given.contains("backend")) context.values["backend"] = "reference";
  AxesList axes;
  for (const Cell& one : benchmark->cells(context)) axes.push_back(one.axes);
  return axes;
}

class Stream : public testing::TestWithParam<const char*> {};

TEST_P(Stream, IsExactAndTimedOnAllRanks) {
  const StreamOperation operation = stream_operation(GetParam());
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(results.size());
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        results[rank] = measure_stream(operation, std::size_t{64} * 101, 2,
                                       Sampler(*group[rank], few_samples()));
      });
    }
  }
  for (const Measurement& result : results) {
    EXPECT_TRUE(result.status == Status::ok || result.status == Status::unstable);
    ASSERT_EQ(result.at("time").samples.size(), 2U);
    for (const auto& samples : result.at("time").samples) {
      EXPECT_EQ(samples.size(), 3U);
      for (const double time : samples) EXPECT_GT(time, 0);
    }
    EXPECT_EQ(result.max_relative_error, 0);
    EXPECT_EQ(result.work->bytes.si(), (operation.inputs + operation.outputs) * 64 * 101);
    EXPECT_EQ(result.work->flops.si(), operation.flops * 8 * 101);
  }
}

INSTANTIATE_TEST_SUITE_P(Operations, Stream,
                         testing::Values("copy", "scale", "add", "triad", "sum", "fill"));

/// A pass that takes next to nothing, whatever the size of the array: there is nothing left to do
/// after the first. On one thread, which waits for no other.
TEST(Stream, IsTimedOverSoManyPassesThatASampleIsLong) {
  static std::atomic<int> calls;
  StreamOperation quick = stream_operation("fill");
  quick.run = [](std::size_t n, const double*, const double*, double* out) {
    ++calls;
    for (std::size_t i = 0; i < n && out[i] != 3; ++i) out[i] = 3;
    return 0.0;
  };
  quick.expected = [](double, double) { return 3.0; };
  const auto group = backend::local_group(1);
  const Measurement result =
      measure_stream(quick, std::size_t{1} << 20, 1, Sampler(*group.front(), few_samples()));
  EXPECT_NE(result.status, Status::wrong) << result.reason;
  EXPECT_GT(calls, 1000);
}

TEST(Stream, ThatIsWrongGetsNoTime) {
  StreamOperation broken = stream_operation("triad");
  broken.run = [](std::size_t n, const double* a, const double* b, double* out) {
    for (std::size_t i = 0; i + 1 < n; ++i) out[i] = a[i] + 3 * b[i];  // forgets the last
    return 0.0;
  };
  const auto group = backend::local_group(1);
  const Measurement result =
      measure_stream(broken, 6400, 1, Sampler(*group.front(), few_samples()));
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_TRUE(result.series.empty());
  EXPECT_TRUE(contains(result.reason, "1 elements"));
}

TEST(Stream, WhoseSumIsWrongGetsNoTime) {
  StreamOperation broken = stream_operation("sum");
  broken.run = [](std::size_t, const double* a, const double*, double*) { return a[0]; };
  const auto group = backend::local_group(1);
  EXPECT_EQ(measure_stream(broken, 6400, 2, Sampler(*group.front(), few_samples())).status,
            Status::wrong);
}

TEST(Stream, TellsWhatIsReadBecauseItIsWritten) {
  const auto group = backend::local_group(1);
  const Sampler sampler(*group.front(), few_samples());
  const auto has = [&](const char* name) {
    return measure_stream(stream_operation(name), 6400, 1, sampler)
        .series.contains("write_allocate");
  };
  EXPECT_TRUE(has("triad"));
  EXPECT_TRUE(has("fill"));
  EXPECT_FALSE(has("sum"));
  EXPECT_FALSE(has("copy"));  // the C library decides
}

TEST(Stream, OfAnotherNameIsRefused) {
  EXPECT_TRUE(contains(config_error([] { stream_operation("dot"); }), "triad"));
}

TEST(Stream, IsExactInEveryInstructionSetAndWithStreamingStores) {
  using backend::simd::Stores;
  const auto group = backend::local_group(1);
  const Sampler sampler(*group.front(), few_samples());
  for (const auto& kernels : backend::simd::array_kernels()) {
    for (const char* name : {"copy", "scale", "add", "triad", "sum", "fill"}) {
      for (const Stores stores : {Stores::ordinary, Stores::streaming}) {
        if (std::string_view(name) == "sum" && stores == Stores::streaming) continue;
        const StreamOperation operation =
            stream_operation(name, {.isa = std::string(kernels.isa), .stores = stores});
        for (const std::size_t lines : {1U, 3U, 37U}) {
          const Measurement result = measure_stream(operation, 64 * lines, 1, sampler);
          EXPECT_NE(result.status, Status::wrong) << operation.implementation << " " << name;
        }
      }
    }
  }
}

TEST(Stream, RefusesCodeThatThereIsNot) {
  using backend::simd::Stores;
  const auto reason = [](const char* name, const StreamCode& code) -> std::string {
    try {
      stream_operation(name, code);
    } catch (const Unsupported& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_TRUE(
      contains(reason("copy", {.isa = "compiled", .stores = Stores::streaming}), "compiler"));
  EXPECT_TRUE(contains(reason("sum", {.isa = "avx2", .stores = Stores::streaming}), "nothing"));
  EXPECT_NE(reason("copy", {.isa = "amx_bf16", .stores = Stores::ordinary}), "");
  EXPECT_NE(reason("copy", {.isa = "best", .stores = Stores::ordinary}), "");
}

class InputCopies : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    const auto opened = backend::try_open(*family<backend::ComputeBackend>().find(GetParam()));
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
  }
};

Measurement measure_copy(std::string_view backend, DType dtype) {
  const auto group = backend::local_group(1);
  Workbench workbench(open_device(backend, 1), open_device("reference", 1), 1);
  return measure_input_copy(workbench, {{3, 20, 30}, 2, dtype},
                            Sampler(*group.front(), few_samples()));
}

void expect_timed(const Measurement& result, double bytes) {
  EXPECT_TRUE(result.status == Status::ok || result.status == Status::unstable) << result.reason;
  EXPECT_EQ(result.at("time").samples.front().size(), 3U);
  EXPECT_EQ(result.work->bytes.si(), bytes);
}

TEST_P(InputCopies, ArriveAsTheyAreInF32) {
  const Measurement result = measure_copy(GetParam(), DType::f32);
  expect_timed(result, 3600 * 8);
  EXPECT_EQ(result.max_relative_error, 0);
}

TEST_P(InputCopies, ArriveRoundedInBf16WhereTheBackendHasIt) {
  const Measurement result = measure_copy(GetParam(), DType::bf16);
  if (GetParam() == "reference" || GetParam() == "native") {
    EXPECT_EQ(result.status, Status::unsupported);
    EXPECT_TRUE(contains(result.reason, "f32")) << result.reason;
    EXPECT_TRUE(result.series.empty());
    return;
  }
  expect_timed(result, 3600 * 6);
  EXPECT_GT(result.max_relative_error, 0);
  EXPECT_LE(result.max_relative_error, 1.0 / 256);
}

std::vector<std::string_view> built_backends() {
  std::vector<std::string_view> names;
  for (const auto* member : family<backend::ComputeBackend>().members)
    names.push_back(member->name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Backends, InputCopies, testing::ValuesIn(built_backends()));

TEST(BenchMemory, HasACellForEveryOperationSizeAndNumberOfThreads) {
  const AxesList found = axes_of_cells(
      {{"operations", "copy,triad"}, {"sizes", "64 KiB,1 MiB,1024 KiB"}, {"threads", "1,2"}});
  EXPECT_EQ(found.size(), 8U);
  EXPECT_EQ(found.front(), (std::map<std::string, std::string>{{"operation", "copy"},
                                                               {"bytes", "65536"},
                                                               {"threads", "1"},
                                                               {"ranks", "1"},
                                                               {"ranks_on_node", "1"}}));
}

TEST(BenchMemory, NamesTheCodeOnlyWhereItIsNotTheCompilersOwn) {
  const AxesList found = axes_of_cells({{"operations", "triad"},
                                        {"sizes", "64 KiB"},
                                        {"isa", "compiled,best"},
                                        {"stores", "ordinary,streaming"}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_FALSE(found[0].contains("isa"));
  EXPECT_EQ(found[1].at("stores"), "streaming");
  EXPECT_EQ(found[2].at("isa"), widest_instruction_set());
  EXPECT_EQ(found[2].at("stores"), "ordinary");
}

TEST(BenchMemory, HasTheBestCodeOnceWhereItIsNamedToo) {
  const std::string best = widest_instruction_set();
  if (best == "best") GTEST_SKIP() << "no loops for an instruction set here";
  EXPECT_EQ(
      axes_of_cells({{"operations", "triad"}, {"sizes", "64 KiB"}, {"isa", "best," + best}}).size(),
      1U);
}

TEST(BenchMemory, SweepsFromFourKibibytesByDoublings) {
  if (backend::last_level_cache() == Bytes(0)) GTEST_SKIP() << "no size of a cache is known here";
  const AxesList found = axes_of_cells({{"operations", "copy"}, {"sizes", "sweep"}});
  ASSERT_GT(found.size(), 5U);
  EXPECT_EQ(found[0].at("bytes"), "4096");
  EXPECT_EQ(found[1].at("bytes"), "8192");
}

TEST(BenchMemory, CopiesTheBatchesOfNetworksOnceEach) {
  const AxesList found =
      axes_of_cells({{"operations", "h2d"}, {"networks", "googlenet,resnet50"}, {"batch", "2,4"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at("bytes"), std::to_string(2 * 3 * 224 * 224 * 4));
  EXPECT_EQ(found[1].at("bytes"), std::to_string(4 * 3 * 224 * 224 * 4));
  EXPECT_EQ(found[0].at("backend"), "reference");
  EXPECT_EQ(found[0].at("dtype"), "f32");
}

/// The reference, which every copy is checked against, has one thread.
TEST(BenchMemory, CopiesABatchWithSeveralThreads) {
  if (family<backend::ComputeBackend>().find("onednn") == nullptr) {
    GTEST_SKIP() << "this build has no backend with several threads";
  }
  const AxesList found = axes_of_cells({{"operations", "h2d"},
                                        {"networks", "alexnet"},
                                        {"batch", "1"},
                                        {"backend", "onednn"},
                                        {"threads", "2"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at("threads"), "2");
}

TEST(BenchMemory, WarnsOfMoreThreadsThanCores) {
  const std::size_t cores = backend::usable_cores().size();
  const Benchmark* benchmark = family<Benchmark>().find("memory");
  const auto group = backend::local_group(1);
  Context context = make_context(
      *benchmark,
      {{"operations", "triad"}, {"sizes", "64 KiB"}, {"threads", std::to_string(cores + 1)}},
      *group.front());
  const Measurement result =
      benchmark->cells(context).front().measure(Sampler(*group.front(), few_samples()));
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_TRUE(contains(result.warnings.back(), "cores are to be busy"));
}

TEST(BenchMemory, GoesBeyondTheCachesOfThisMachine) {
  const Bytes cache = backend::last_level_cache();
  if (cache == Bytes(0)) GTEST_SKIP() << "the size of the last-level cache is not known here";
  const AxesList found = axes_of_cells({{"operations", "copy"}, {"sizes", "beyond_caches"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(std::stod(found[0].at("bytes")), 4 * cache.si());
}

TEST(BenchMemory, RefusesWhatItCannotMeasure) {
  const auto refusal = [](const std::map<std::string, std::string>& values) {
    return config_error([&] { axes_of_cells(values); });
  };
  EXPECT_TRUE(contains(refusal({{"operations", "dot"}}), "dot"));
  EXPECT_TRUE(contains(refusal({{"sizes", "1000"}}), "1000"));
  EXPECT_TRUE(contains(refusal({{"sizes", "100 B"}}), "64 B each"));
  EXPECT_TRUE(contains(refusal({{"sizes", "0 KiB"}}), "above 0"));
  EXPECT_TRUE(contains(refusal({{"sizes", "4000 GiB"}}), "memory"));
  EXPECT_TRUE(contains(refusal({{"sizes", ""}}), "is empty"));
  EXPECT_TRUE(contains(refusal({{"operations", "h2d"}, {"isa", "avx2"}}), "--isa has no effect"));
  EXPECT_TRUE(contains(refusal({{"operations", "copy"}, {"batch", "8"}}), "add h2d there"));
  EXPECT_TRUE(contains(refusal({{"threads", "0"}}), "threads"));
  EXPECT_TRUE(contains(refusal({{"isa", "avx1024"}}), "avx1024"));
  EXPECT_TRUE(contains(refusal({{"stores", "direct"}}), "streaming"));
  EXPECT_TRUE(contains(refusal({{"dtype", "f64"}}), "f64"));
  EXPECT_TRUE(contains(refusal({{"operations", "h2d"}, {"backend", "abacus"}}), "abacus"));
}

}  // namespace
}  // namespace dlscale::bench
