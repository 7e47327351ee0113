#include "bench/update/update.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "tests/bench/conv/fake_device.hpp"
#include "tests/bench/engine/quick.hpp"

namespace dlscale::bench {
namespace {

Measurement measure_updates(Fault fault, DType dtype) {
  const auto group = backend::local_group(1);
  Workbench workbench(make_fake_device(fault), open_device("reference", 1), 1);
  return measure_update(workbench, 20000, dtype, Sampler(*group.front(), quick));
}

TEST(BenchUpdate, CallsWhatIsNoNumberWrong) {
  const Measurement result = measure_updates(Fault::nan, DType::f32);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_TRUE(result.series.empty());
  EXPECT_FALSE(result.max_relative_error);
}

TEST(BenchUpdate, AgreesWithTheFormulaInDouble) {
  const Measurement result = measure_updates(Fault::none, DType::f32);
  EXPECT_EQ(result.status, Status::ok) << result.reason;
  ASSERT_TRUE(result.max_relative_error);
  EXPECT_LE(*result.max_relative_error, 1e-5);
  EXPECT_EQ(result.work->bytes, Bytes(20 * 20000));
  EXPECT_EQ(result.at("time").samples.front().size(), 2U);
}

TEST(BenchUpdate, ChecksTheWeightsInLowPrecisionToo) {
  const Measurement result = measure_updates(Fault::none, DType::bf16);
  EXPECT_EQ(result.status, Status::ok) << result.reason;
  EXPECT_EQ(result.work->bytes, Bytes(22 * 20000));
}

TEST(BenchUpdate, IsMeasuredInEveryStateOfTheCaches) {
  for (const CacheState cache : kernel_cache_states) {
    const auto group = backend::local_group(1);
    Workbench workbench(make_fake_device(Fault::none), open_device("reference", 1), 1);
    const Measurement result = measure_update(workbench, std::size_t{1} << 18, DType::f32,
                                              Sampler(*group.front(), quick), cache);
    EXPECT_EQ(result.status, Status::ok) << result.reason;
    EXPECT_EQ(result.implementation, "fake update");
    if (cache != CacheState::rotating) continue;
    EXPECT_EQ(result.at("operand_sets").summary.median,
              workbench.rotation_sets(Bytes(3.0 * 4 * (1 << 18))));
  }
}

TEST(BenchUpdate, CatchesOneWrongWeight) {
  const Measurement result = measure_updates(Fault::update, DType::f32);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_TRUE(result.series.empty());
}

TEST(BenchUpdate, StopsAllRanksAtTheBrokenDeviceOfOne) {
  const auto group = backend::local_group(2);
  std::vector<std::string> thrown(2);
  std::vector<std::jthread> ranks;
  for (std::size_t i = 0; i < thrown.size(); ++i) {
    ranks.emplace_back([&, i] {
      Workbench workbench(make_fake_device(i == 1 ? Fault::broken : Fault::none),
                          open_device("reference", 1), 1);
      try {
        static_cast<void>(measure_update(workbench, 20000, DType::f32, Sampler(*group[i], quick)));
      } catch (const Error& error) {
        thrown[i] = error.what();
      }
    });
  }
  ranks.clear();
  EXPECT_EQ(thrown,
            (std::vector<std::string>{"on rank 1: the fake is broken", "the fake is broken"}));
}

/// The reference, which every answer is checked against, has one thread.
TEST(BenchThreads, AreThoseOfTheDeviceThatIsMeasured) {
  if (family<backend::ComputeBackend>().find("onednn") == nullptr) {
    GTEST_SKIP() << "this build has no backend with several threads";
  }
  const auto group = backend::local_group(1);
  for (const char* name : {"conv", "gemm", "update"}) {
    const Benchmark& benchmark = *family<Benchmark>().find(name);
    Context context =
        make_context(benchmark, {{"threads", "2"}, {"backend", "onednn"}}, *group.front());
    const std::vector<Cell> cells = benchmark.cells(context);
    EXPECT_EQ(cells.front().axes.at("threads"), "2") << name;
  }
}

TEST(BenchUpdate, RefusesSizesThatHoldNoParameters) {
  const auto group = backend::local_group(1);
  const Benchmark& update = *family<Benchmark>().find("update");
  for (const char* wrong : {"0 B", "6 B", "64", "big", "-4 KiB", "1 s"}) {
    Context context =
        make_context(update, {{"sizes", wrong}, {"backend", "reference"}}, *group.front());
    EXPECT_THROW(static_cast<void>(update.cells(context)), ConfigError) << wrong;
  }
  Context context =
      make_context(update, {{"sizes", "64 KiB, 1 MiB"}, {"backend", "reference"}}, *group.front());
  const std::vector<Cell> cells = update.cells(context);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[1].axes.at("bytes"), "1048576");
  EXPECT_EQ(cells[1].axes.at("cache"), "cold");
}

}  // namespace
}  // namespace dlscale::bench
