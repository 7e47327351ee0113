#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/gemm/product_bench.hpp"
#include "bench/gemm/product_memory.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/bench/conv/fake_device.hpp"
#include "tests/bench/engine/fake_monitor.hpp"
#include "tests/bench/engine/quick.hpp"

namespace dlscale::bench {
namespace {

constexpr Conditions hot{CacheState::hot, ValueKind::normal};
constexpr GemmShape shape{17, 19, 23, false, true};

std::shared_ptr<Workbench> workbench(std::unique_ptr<backend::ComputeDevice> device) {
  return std::make_shared<Workbench>(std::move(device), open_device("reference", 1), 1);
}

Measurement measure(std::unique_ptr<backend::ComputeDevice> device, const GemmShape& measured,
                    Check check = Check::reference, CacheState cache = CacheState::hot,
                    DType dtype = DType::f32, ValueKind values = ValueKind::normal) {
  const auto group = backend::local_group(1);
  const Sampler sampler(*group.front(), quick);
  return ProductBench(workbench(std::move(device)), measured, dtype, check)
      .measure(sampler, {cache, values});
}

bool warns_of_no_check(const Measurement& result) {
  return std::ranges::any_of(result.warnings, [](const std::string& warning) {
    return warning.find("--check yes") != std::string::npos;
  });
}

TEST(BenchGemm, ChecksAndTimesAProduct) {
  const Measurement result = measure(make_fake_device(Fault::none), shape);
  EXPECT_EQ(result.status, Status::ok) << result.reason;
  ASSERT_TRUE(result.max_relative_error);
  EXPECT_LE(*result.max_relative_error, 1e-5);
  ASSERT_TRUE(result.mean_relative_error && result.workspace && result.creation);
  EXPECT_LE(*result.mean_relative_error, *result.max_relative_error);
  EXPECT_GT(*result.creation, Seconds(0));
  EXPECT_EQ(result.implementation, "fake+loops");
  EXPECT_EQ(result.work->flops, Flops(2 * 17 * 19 * 23));
  EXPECT_EQ(result.work->bytes, Bytes(4 * (17 * 23 + 23 * 19 + 17 * 19)));
  EXPECT_EQ(result.at("time").samples.front().size(), 2U);
  EXPECT_FALSE(warns_of_no_check(result));
}

TEST(BenchGemm, GivesNoTimeOfAWrongAnswer) {
  const Measurement result = measure(make_fake_device(Fault::output), shape);
  EXPECT_EQ(result.status, Status::wrong);
  EXPECT_TRUE(result.series.empty());
  EXPECT_NE(result.reason.find("differs from the reference"), std::string::npos);
  EXPECT_GT(*result.max_relative_error, 0.1);
}

TEST(BenchGemm, TimesWhatWasNotCheckedWithAWarning) {
  const Measurement result = measure(make_fake_device(Fault::output), shape, Check::none);
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_FALSE(result.max_relative_error);
  EXPECT_TRUE(warns_of_no_check(result));
}

TEST(BenchGemm, GivesTheReasonOfWhatIsNotOffered) {
  const Measurement none = measure(make_fake_device(Fault::unsupported), shape);
  EXPECT_EQ(none.status, Status::unsupported);
  EXPECT_EQ(none.reason, "no products today");
  EXPECT_TRUE(none.series.empty());
  const Measurement low =
      measure(make_fake_device(Fault::none), shape, Check::reference, CacheState::hot, DType::bf16);
  EXPECT_EQ(low.status, Status::unsupported);
  EXPECT_NE(low.reason.find("bf16"), std::string::npos);
}

TEST(BenchGemm, AllocatesNoMatricesThatTheMemoryCannotHold) {
  const GemmShape huge{1 << 20, 1 << 20, 1 << 20, false, false, 1 << 20};
  const Measurement host = measure(make_fake_device(Fault::none), huge);
  EXPECT_EQ(host.status, Status::unsupported);
  EXPECT_NE(host.reason.find("of the host's memory are free"), std::string::npos) << host.reason;
  const Measurement device = measure(backend::make_remote_device(), huge, Check::none);
  EXPECT_NE(device.reason.find("of the device's memory are free"), std::string::npos)
      << device.reason;
}

TEST(BenchGemm, CountsTheWorkspaceAmongWhatTheMemoryMustHold) {
  const Measurement result = measure(make_fake_device(Fault::vast), shape, Check::none);
  EXPECT_EQ(result.status, Status::unsupported);
  EXPECT_NE(result.reason.find("of the host's memory are free"), std::string::npos)
      << result.reason;
}

TEST(BenchGemm, WorksOnADeviceWithMemoryOfItsOwnInEveryStateOfTheCaches) {
  for (const CacheState cache : kernel_cache_states) {
    const Measurement result = measure(backend::make_remote_device(), {65, 66, 67, true, true, 2},
                                       Check::reference, cache);
    EXPECT_EQ(result.status, Status::ok) << result.reason;
    EXPECT_LT(*result.max_relative_error, 1e-5);
    EXPECT_TRUE(result.series.contains("give"));
  }
}

TEST(BenchGemm, TakesSetsOfMatricesInTurn) {
  const Measurement result =
      measure(make_fake_device(Fault::none), {256, 256, 256}, Check::none, CacheState::rotating);
  EXPECT_EQ(result.status, Status::ok) << result.reason;
  const auto sets = workbench(make_fake_device(Fault::none))->rotation_sets(Bytes(3 * 4 * 65536));
  EXPECT_EQ(result.at("operand_sets").summary.median, sets);
  EXPECT_GT(sets, 1);
  EXPECT_FALSE(measure(make_fake_device(Fault::none), shape).series.contains("operand_sets"));
}

TEST(BenchGemm, ComputesWithTheValuesThatAreAskedFor) {
  const auto device = open_device("reference", 1);
  ProductMemory zeros(*device, shape, DType::f32, OperandValues(ValueKind::zeros), 0);
  EXPECT_EQ(zeros.a(), std::vector<float>(shape.a_elements()));
  EXPECT_EQ(measure(make_fake_device(Fault::none), shape, Check::reference, CacheState::hot,
                    DType::f32, ValueKind::zeros)
                .status,
            Status::ok);
}

TEST(BenchGemm, ReadsTheConditionsOfADeviceMeanwhile) {
  const auto group = backend::local_group(1);
  const auto watched =
      std::make_shared<Workbench>(backend::make_remote_device(), open_device("reference", 1), 1,
                                  DeviceWitness{std::make_shared<FakeMonitor>(), {}});
  const Measurement result = ProductBench(watched, shape, DType::f32, Check::reference)
                                 .measure(Sampler(*group.front(), quick), hot);
  EXPECT_EQ(result.at("memory_clock").summary.median, 2e9);
  EXPECT_EQ(result.at("power").unit, "W");
}

TEST(BenchGemm, StopsAllRanksAtTheBrokenDeviceOfOne) {
  const auto group = backend::local_group(2);
  std::vector<std::string> thrown(2);
  std::vector<std::jthread> ranks;
  ranks.reserve(thrown.size());
  for (std::size_t i = 0; i < thrown.size(); ++i) {
    ranks.emplace_back([&, i] {
      ProductBench bench(workbench(make_fake_device(i == 1 ? Fault::broken : Fault::none)), shape,
                         DType::f32, Check::reference);
      try {
        static_cast<void>(bench.measure(Sampler(*group[i], quick), hot));
      } catch (const Error& error) {
        thrown[i] = error.what();
      }
    });
  }
  ranks.clear();
  EXPECT_EQ(thrown,
            (std::vector<std::string>{"on rank 1: the fake is broken", "the fake is broken"}));
}

TEST(BenchGemm, GivesARowOnAllRanksIfOneCannot) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  std::vector<std::jthread> ranks;
  ranks.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ranks.emplace_back([&, i] {
      ProductBench bench(workbench(make_fake_device(i == 1 ? Fault::unsupported : Fault::none)),
                         shape, DType::f32, Check::reference);
      results[i] = bench.measure(Sampler(*group[i], quick), hot);
    });
  }
  ranks.clear();
  for (const Measurement& result : results) EXPECT_EQ(result.status, Status::unsupported);
}

TEST(BenchGemm, WarnsOfMoreThreadsThanCores) {
  const auto group = backend::local_group(1);
  const auto crowded =
      std::make_shared<Workbench>(make_fake_device(Fault::none), open_device("reference", 1),
                                  static_cast<int>(backend::usable_cores().size()) + 1);
  const Measurement result = ProductBench(crowded, shape, DType::f32, Check::reference)
                                 .measure(Sampler(*group.front(), quick), hot);
  EXPECT_TRUE(std::ranges::any_of(result.warnings, [](const std::string& warning) {
    return warning.find("cores are to be busy") != std::string::npos;
  }));
}

std::vector<Cell> cells(std::map<std::string, std::string> values) {
  const auto group = backend::local_group(1);
  const Benchmark& gemm = *family<Benchmark>().find("gemm");
  values.try_emplace("backend", "reference");
  Context context = make_context(gemm, std::move(values), *group.front());
  return gemm.cells(context);
}

TEST(BenchGemm, HasACellForEveryShapePrecisionAndStateOfTheCaches) {
  const auto found =
      cells({{"sizes", "2x3x4:nt, 5x6x7"}, {"dtype", "f32,bf16"}, {"cache", "cold,producer,hot"}});
  EXPECT_EQ(found.size(), 12U);
  const std::map<std::string, std::string> first{{"kernel", "gemm m2 n3 k4 ta0 tb1"},
                                                 {"dtype", "f32"},
                                                 {"cache", "cold"},
                                                 {"values", "normal"},
                                                 {"values", "normal"},
                                                 {"backend", "reference"},
                                                 {"threads", "1"},
                                                 {"ranks", "1"},
                                                 {"ranks_on_node", "1"}};
  EXPECT_EQ(found.front().axes, first);
}

TEST(BenchGemm, MeasuresShapesOfSeveralListsOnce) {
  EXPECT_EQ(cells({{"list", "deepbench_train,deepbench"}}).size(), 243U);
  EXPECT_EQ(cells({{"list", "transformer"}, {"sizes", "1x1x1,1x1x1:nn"}}).size(), 43U);
  EXPECT_EQ(cells({}).size(), 4U);
  EXPECT_EQ(cells({{"list", "transformer"}}).size(), 42U);
  EXPECT_EQ(cells({{"list", "transformer"}, {"sizes", "squares"}}).size(),
            46U);  // named, so wanted
  EXPECT_EQ(cells({{"sizes", "squares,1x1x1,512x512x512"}}).size(), 5U);
}

TEST(BenchGemm, MeasuresTheProductsOfConvolutionsOnceAsIm2colRunsThem) {
  const auto kernels = [](std::map<std::string, std::string> values) {
    std::set<std::string> found;
    for (const Cell& cell : cells(std::move(values))) found.insert(cell.axes.at("kernel"));
    return found;
  };
  const auto vgg = kernels({{"network", "vgg16"}, {"batch", "1,4"}});
  // conv5_x, 512 to 512 channels of 14 x 14: 4 MiB of patches are 16 rows of one image, so all.
  EXPECT_TRUE(vgg.contains("gemm m512 n196 k4608 ta0 tb0"));
  EXPECT_TRUE(vgg.contains("gemm m4608 n196 k512 ta1 tb0"));
  EXPECT_TRUE(vgg.contains("gemm m512 n4608 k196 ta0 tb1"));
  EXPECT_EQ(vgg.size(), cells({{"network", "vgg16"}, {"batch", "1,4"}}).size());
  EXPECT_EQ(vgg.size(), 39U) << "9 shapes, 4 with a smaller block last, which 4 images have, too";
  EXPECT_EQ(kernels({{"network", "vgg16"}, {"sizes", "1x1x1"}}).size(),
            kernels({{"network", "vgg16"}}).size() + 1);
  EXPECT_THROW((void)cells({{"batch", "4"}}), ConfigError) << "of no network";
  EXPECT_THROW((void)cells({{"network", "vgg61"}}), ConfigError);
  EXPECT_THROW((void)cells({{"network", "all,vgg16"}}), ConfigError);
}

TEST(BenchGemm, MeasuresTheProductsOfAllPixelsOfConvolutionsWhereAskedTo) {
  const auto kernels = [](const std::string& cut) {
    std::set<std::string> found;
    for (const Cell& cell : cells({{"network", "vgg16"}, {"batch", "4"}, {"gemm_source", cut}})) {
      found.insert(cell.axes.at("kernel"));
    }
    return found;
  };
  const auto whole = kernels("whole");
  EXPECT_TRUE(whole.contains("gemm m512 n3136 k4608 ta0 tb0")) << "conv4_2: 4 images of 28 x 28";
  EXPECT_TRUE(whole.contains("gemm m4608 n3136 k512 ta1 tb0"));
  EXPECT_TRUE(whole.contains("gemm m512 n4608 k3136 ta0 tb1"));
  EXPECT_FALSE(whole.contains("gemm m512 n224 k4608 ta0 tb0")) << "a block of it";
  EXPECT_EQ(whole.size(), 27U) << "9 shapes in 3 passes";
  std::set<std::string> both = kernels("blocks");
  both.insert(whole.begin(), whole.end());
  EXPECT_EQ(kernels("blocks,whole"), both);
  EXPECT_THROW((void)cells({{"gemm_source", "whole"}}), ConfigError) << "of no network";
  EXPECT_THROW((void)cells({{"network", "vgg16"}, {"gemm_source", "half"}}), ConfigError);
}

TEST(BenchGemm, TimesTheCallByWhichOurConvolutionsMultiply) {
  if (family<backend::ComputeBackend>().find("native") == nullptr) {
    GTEST_SKIP() << "this build has no such backend";
  }
  const Measurement result = measure(open_device("native", 1), shape);
  EXPECT_EQ(result.status, Status::ok) << result.reason;
  EXPECT_EQ(result.implementation, "dnnl_sgemm");
  EXPECT_LE(*result.max_relative_error, 1e-5);
}

TEST(BenchGemm, RefusesWhatItCannotRead) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"sizes", "64x64"},
                                                        {"sizes", "64x64x64,"},
                                                        {"sizes", "1x1x1,1x1x1"},
                                                        {"sizes", ""},
                                                        {"list", "deepbnch"},
                                                        {"list", "no/such/file.yaml"},
                                                        {"dtype", "f64"},
                                                        {"cache", "warm"},
                                                        {"check", "maybe"},
                                                        {"threads", "0"},
                                                        {"backend", "onednnn"}}) {
    EXPECT_THROW(static_cast<void>(cells({{name, value}})), ConfigError) << name << " " << value;
  }
}

}  // namespace
}  // namespace dlscale::bench
