#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "model/published/kernels/kernel_table.hpp"
#include "model/published/kernels/product_fit.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model::published {
namespace {

const DeviceCatalogue& catalogue() {
  static const DeviceCatalogue all = DeviceCatalogue::load();
  return all;
}

sheet::KernelFile usual_file() {
  return sheet::load_kernel_file(find_config("models", "kernels"));
}

KernelSamples read(const std::string& text) {
  const test::TemporaryFolder folder;
  KernelSamples samples;
  read_kernel_times(folder.write("times.csv", text), catalogue(), samples);
  return samples;
}

TEST(KernelTable, ReadsProductsOfDeepBench) {
  const KernelSamples read_rows = read(
      "device,sheet,row,M,N,K,A_transpose,B_transpose,time_ms\n"
      "NV_V100,Results FP32,4,1760,16,1024,N,N,0.059\n"
      "NV_V100,\"FP16 ip, Mixed math\",4,1760,16,1024,N,N,0.02\n"
      "NV_M40,Results FP32,4,1760,16,1760,N,N,0.059\n"
      "AMD_MI25,Results FP32,4,1760,16,1760,N,N,0.059\n");
  ASSERT_EQ(read_rows.samples.size(), 2U);
  const KernelSample& first = read_rows.samples.front();
  EXPECT_EQ(first.gpu->id, "v100_pcie_16gb");
  EXPECT_EQ(first.dtype, DType::f32);
  EXPECT_EQ(first.product.flops(), 2.0 * 1760 * 16 * 1024);
  EXPECT_DOUBLE_EQ(first.time.si(), 59e-6);
  EXPECT_EQ(read_rows.samples.back().dtype, DType::f16);
  const std::map<std::string, int> left_out{{"AMD_MI25, without a data sheet", 1},
                                            {"m40, with libraries before 2017", 1}};
  EXPECT_EQ(read_rows.left_out, left_out);
}

TEST(KernelTable, ReadsLinearLayersOfNeuSight) {
  const KernelSamples rows = read(
      "split,device,B,M,N,K,H,latency_ms,kernel\n"
      "test,NVIDIA L4,2,1024,2560,512,,1.5,ampere_sgemm_128x64_tn\n");
  ASSERT_EQ(rows.samples.size(), 1U);
  EXPECT_EQ(rows.samples.front().gpu->id, "l4");
  EXPECT_EQ(rows.samples.front().product.m, 2048);
  EXPECT_EQ(rows.samples.front().product.n, 2560);
  EXPECT_EQ(rows.samples.front().product.k, 512);
}

constexpr std::string_view convolution_heading =
    "device,sheet,N,C,H,W,K,filter_h,filter_w,pad_h,pad_w,stride_h,stride_w,fwd_ms,bwd_inputs_ms,"
    "bwd_params_ms\n";

TEST(KernelTable, ReadsTheThreePassesOfConvolutions) {
  const KernelSamples rows = read(std::string(convolution_heading) +
                                  "NV_V100,FP32,8,64,56,56,128,3,3,1,1,2,2,1,2,3\n"
                                  "NV_V100,FP32,8,3,224,224,64,7,7,3,3,2,2,1,N/A*,3\n");
  ASSERT_EQ(rows.samples.size(), 5U);
  EXPECT_EQ(rows.samples[0].product.m, 8 * 28 * 28);
  EXPECT_EQ(rows.samples[1].product.pass, Pass::backward_data);
  EXPECT_EQ(rows.samples[2].product.pass, Pass::backward_filter);
  EXPECT_EQ(rows.samples[4].product.pass, Pass::backward_filter);
  EXPECT_DOUBLE_EQ(rows.samples[4].time.si(), 3e-3);
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(KernelTable, RefusesWhatNoKernelIs) {
  test::expect_contains(refusal("device,sheet,M,N,K,time_ms\nNV_V100,FP32,1,1,1,0\n"),
                        "time_ms is 0");
  test::expect_contains(refusal("device,sheet,M,N,K,time_ms\nNV_V100,FP32,1,0,1,1\n"), "N");
  test::expect_contains(refusal("device,sheet,M,N,K\nNV_V100,FP32,1,1,1\n"), "time_ms");
  test::expect_contains(
      refusal(std::string(convolution_heading) + "NV_V100,FP32,8,64,2,2,128,5,5,1,1,2,2,1,2,3\n"),
      "larger than the padded image");
}

/// Products of many sizes on four GPUs, as long as the constants say.
std::vector<KernelSample> made_by(const sheet::KernelConstants& constants) {
  std::vector<KernelSample> samples;
  for (const char* gpu : {"t4", "l4", "a100_pcie_40gb", "v100_pcie_32gb"}) {
    for (double size = 64; size < 8000; size *= 1.37) {
      KernelSample sample;
      sample.gpu = catalogue().find(gpu);
      sample.product = sheet::linear_product(2 * size, size, size, Pass::forward);
      sample.time = kernel_time(sample, constants);
      samples.push_back(sample);
    }
  }
  return samples;
}

TEST(ProductFit, FindsTheConstantsThatMadeTheTimes) {
  const sheet::KernelFile file = usual_file();
  sheet::KernelConstants truth = alone(file);
  truth.efficiency = 0.85;
  truth.power_weight = 0.6;
  truth.kernel_overhead = 8e-6;
  const KernelFit fit = fit_kernels(made_by(truth), file);
  for (const sheet::ConstantKey& one : sheet::fitted_to_kernels()) {
    const FittedConstant& found = fit.fitted.find(one.key)->second;
    EXPECT_NEAR(std::log(found.value / truth.*one.value), 0, 0.05) << one.key;
    EXPECT_LE(found.low, found.value);
    EXPECT_GE(found.high, found.value);
  }
  ASSERT_EQ(fit.scores.size(), 4U);
  for (const KernelScore& score : fit.scores) {
    EXPECT_LT(score.median, 0.05) << score.gpu;
    EXPECT_EQ(score.kernel, "product");
    EXPECT_EQ(score.cases, 16U);
  }
}

TEST(ProductFit, NeedsThreeGpus) {
  std::vector<KernelSample> samples = made_by(alone(usual_file()));
  std::erase_if(samples,
                [](const KernelSample& one) { return one.gpu->id == "t4" || one.gpu->id == "l4"; });
  EXPECT_THROW(fit_kernels(samples, usual_file()), ConfigError);
}

/// The goals for products on a GPU that nobody fitted, with GPUs alike.
TEST(ProductFit, PredictsPublishedProductsOnAGpuLeftOut) {
  const std::filesystem::path sets =
      std::filesystem::path(DLSCALE_SHARED_DATA) / "validation" / "sets";
  const std::array files{sets / "deepbench" / "gemm.csv", sets / "neusight_kernels" / "linear.csv"};
  KernelSamples rows;
  for (const std::filesystem::path& file : files) {
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
    read_kernel_times(file, catalogue(), rows);
  }
  const KernelFit fit = fit_kernels(rows.samples, usual_file());
  double median = 0;
  double mean = 0;
  for (const KernelScore& score : fit.scores) {
    median += score.median / static_cast<double>(fit.scores.size());
    mean += score.mean / static_cast<double>(fit.scores.size());
  }
  EXPECT_LT(median, 0.125);
  EXPECT_LT(mean, 0.18);
  EXPECT_GT(fit.scores.size(), 7U);
}

}  // namespace
}  // namespace dlscale::model::published
