#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "bench/conv/kernels.hpp"
#include "bench/conv/step_bench.hpp"
#include "bench/workbench/finding.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

constexpr const char* shared_kernel = "convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1";

TEST(AlgorithmicWork, IsThatOfTheAlgorithmThatRan) {
  const MeasuredKernel kernel{.key = shared_kernel, .batch = 4};
  const auto direct = algorithmic_work("onednn", "jit:avx512_core", kernel);
  const auto winograd = algorithmic_work("native", "winograd F(4x4,3x3) avx3+gemm", kernel);
  const auto fft = algorithmic_work("native", "reorder+fft_tiled 16x16 avx3+gemm", kernel);
  ASSERT_TRUE(direct && winograd && fft);
  EXPECT_DOUBLE_EQ(direct->flops.si(), 2.0 * 4 * 64 * 64 * 166 * 166);  // 3 * 56 - 2 a side
  EXPECT_LT(winograd->flops, 0.5 * direct->flops);
  EXPECT_GT(winograd->bytes, direct->bytes);
  EXPECT_NE(fft->flops, direct->flops);
}

TEST(AlgorithmicWork, LeavesOutTheTransformOfFiltersThatWereKept) {
  const MeasuredKernel kernel{.key = shared_kernel, .batch = 4};
  for (const std::string words : {"winograd F(4x4,3x3) avx3+gemm", "fft 64x64 avx3+gemm"}) {
    const auto all = algorithmic_work("native", words, kernel);
    const auto kept = algorithmic_work("native", "kept filters+reorder+" + words, kernel);
    ASSERT_TRUE(all && kept) << words;
    EXPECT_LT(kept->flops, all->flops) << words;
    EXPECT_LT(kept->bytes, all->bytes) << words;
    EXPECT_GT(kept->flops, 0.2 * all->flops) << words;
  }
}

TEST(AlgorithmicWork, IsThatOfOurKernelsOnGpus) {
  MeasuredKernel kernel{.key = shared_kernel, .batch = 4};
  for (const char* words :
       {"own winograd_f4 F(4x4,3x3) cublasLt algo=6 tile=20", "own fft 60x60 cufft cublasLt algo=6",
        "own fft_tiled 16x16 cufft cublasLt algo=6"}) {
    const auto ours = algorithmic_work("cuda", words, kernel);
    ASSERT_TRUE(ours) << words;
    EXPECT_GT(ours->flops.si(), 0) << words;
    EXPECT_EQ(ours->bytes, algorithmic_work("cuda_nchw", words, kernel)->bytes);
  }
  kernel.batch = 32;
  // Less than with planes of 64 x 64: 2.5 L^2 log2 L^2 operations each, and products of half
  // spectra.
  constexpr double planes = 32 * 64 + 64 * 64 + 32 * 64;
  constexpr double by_64 = 2.5 * 64 * 64 * 12 * planes + 8.0 * 64 * 33 * 32 * 64 * 64;
  EXPECT_LT(algorithmic_work("cuda", "own fft 60x60 cufft", kernel)->flops.si(), by_64);
  kernel.dtype = DType::tf32;
  EXPECT_TRUE(algorithmic_work("cuda", "own winograd_f2 F(2x2,3x3) cublasLt", kernel));
}

TEST(AlgorithmicWork, MovesHalfTheBytesInHalfThePrecision) {
  const MeasuredKernel single{.key = shared_kernel, .batch = 4};
  MeasuredKernel half = single;
  half.dtype = DType::bf16;
  for (const char* words : {"brgconv:avx512_core_bf16", "x64:gemm:jit"}) {
    const auto in_f32 = algorithmic_work("onednn", words, single);
    const auto in_bf16 = algorithmic_work("onednn", words, half);
    ASSERT_TRUE(in_f32 && in_bf16) << words;
    EXPECT_EQ(in_bf16->flops, in_f32->flops) << words;
    EXPECT_EQ(in_bf16->bytes, 0.5 * in_f32->bytes) << words;
  }
}

TEST(AlgorithmicWork, IsUnknownWhereTheAlgorithmIs) {
  const MeasuredKernel kernel{.key = shared_kernel, .batch = 4};
  EXPECT_FALSE(algorithmic_work("cuda", "engine 34", kernel));
  EXPECT_FALSE(
      algorithmic_work("onednn", "jit:avx512_core", {.key = "relu c64 h56 w56", .batch = 4}));
  MeasuredKernel low = kernel;
  low.dtype = DType::bf16;
  EXPECT_FALSE(algorithmic_work("onednn", "jit_wino_4x3:avx512_core", low));
  MeasuredKernel strided = kernel;
  strided.key = "convolution c64 h56 w56 k64 r3 s3 stride2 pad1 groups1";
  EXPECT_FALSE(algorithmic_work("native", "winograd F(4x4,3x3) avx3+gemm", strided));
}

std::vector<Kernel> all_kernels(const Network& network) {
  const auto passes = parse_passes({"all"});
  const auto layers = parse_layers(network, {"all"});
  return distinct_kernels(network, passes, layers);
}

class KernelsOf : public testing::TestWithParam<const char*> {};

TEST_P(KernelsOf, CoverEveryStepOnceByItsFirstLayer) {
  const Network network = load_network(GetParam());
  std::map<std::pair<std::string, Pass>, LayerId> first;
  std::vector<Step> steps = forward_steps(network);
  for (const Step& step : backward_steps(network)) steps.push_back(step);
  for (const Step& step : steps) {
    const std::pair key(kernel_key(network, step.layer), step.pass);
    const auto place = first.try_emplace(key, step.layer).first;
    if (step.layer < place->second) place->second = step.layer;
  }
  const auto kernels = all_kernels(network);
  EXPECT_EQ(kernels.size(), first.size());
  EXPECT_LT(kernels.size(), steps.size()) << "layers repeat";
  for (const Kernel& kernel : kernels) {
    const std::pair key(kernel.key, kernel.step.pass);
    ASSERT_TRUE(first.contains(key));
    EXPECT_EQ(kernel.step.layer, first.at(key)) << kernel.key;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, KernelsOf, testing::Values("alexnet", "googlenet", "resnet50"));

TEST(Kernels, OfALayerAreThoseItSharesWithEarlierOnes) {
  const Network network = load_network("vgg16");
  // conv3_3 does what conv3_2 does
  const auto layers = parse_layers(network, {"conv3_3"});
  const auto forward = distinct_kernels(network, std::vector{Pass::forward}, layers);
  ASSERT_EQ(forward.size(), 1U);
  EXPECT_EQ(network.layer(forward.front().step.layer).name, "conv3_2");
}

TEST(Kernels, AreLimitedToThePassesAskedFor) {
  const Network network = load_network("alexnet");
  const auto layers = parse_layers(network, {"all"});
  for (const Kernel& kernel :
       distinct_kernels(network, parse_passes({"backward_filter"}), layers)) {
    EXPECT_EQ(kernel.step.pass, Pass::backward_filter);
  }
}

TEST(Layers, AreOneOrMoreNamesOfTheNetwork) {
  const Network network = load_network("alexnet");
  EXPECT_EQ(parse_layers(network, {"conv2", "conv1"}).size(), 2U);
  EXPECT_THROW(parse_layers(network, {"conv1", "conv11"}), ConfigError);
  EXPECT_THROW(parse_layers(network, {"all", "conv1"}), ConfigError);
}

TEST(Layers, AreNamedByTheirKinds) {
  const Network network = load_network("alexnet");
  const auto named = parse_layers(network, {"max_pooling", "conv1"});
  ASSERT_EQ(named.size(), 4U);
  EXPECT_EQ(network.layer(named.front()).name, "conv1");
  EXPECT_EQ(parse_layers(network, {"convolution", "conv1"}).size(), 5U);
  EXPECT_THROW(parse_layers(network, {"batch_norm"}), ConfigError);
}

TEST(Layers, AreNamedByTheirNamesFirst) {
  const Network network("tiny", {3, 8, 8},
                        {{"first", Relu{}, {"input"}},
                         {"relu", Relu{}, {"first"}},
                         {"fc", FullyConnected{.outputs = 3}, {"relu"}},
                         {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const auto named = parse_layers(network, {"relu"});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(network.layer(named.front()).name, "relu");
}

Status status_of(const Finding& finding, DType dtype = DType::f32) {
  const auto measurement = rejected(finding, dtype);
  return measurement ? measurement->status : Status::ok;
}

TEST(Finding, OfASmallErrorMayBeTimed) {
  EXPECT_EQ(status_of({.error = 1e-5}), Status::ok);
  EXPECT_EQ(status_of({.error = 1e-3}), Status::wrong);
  EXPECT_EQ(status_of({.error = 1e-3}, DType::bf16), Status::ok) << "fewer digits";
}

TEST(Finding, ThatIsUnsupportedSaysWhy) {
  const auto measurement = rejected({.unsupported = "no groups here", .error = 9}, DType::f32);
  ASSERT_TRUE(measurement);
  EXPECT_EQ(measurement->status, Status::unsupported);
  EXPECT_EQ(measurement->reason, "no groups here");
}

TEST(Finding, NamesWhatIsWrongAndByHowMuch) {
  const auto measurement = rejected({.error = 0.5, .worst = "weight gradient"}, DType::f32);
  ASSERT_TRUE(measurement);
  EXPECT_EQ(measurement->reason.find("weight gradient differs from the reference by 5.0e-01"), 0U)
      << measurement->reason;
}

/// What `find` of each rank comes to on all.
std::vector<Finding> on_all(const std::vector<std::function<Finding()>>& find) {
  auto group = backend::local_group(static_cast<int>(find.size()));
  std::vector<Finding> found(group.size());
  {
    std::vector<std::jthread> ranks;
    for (std::size_t i = 0; i < group.size(); ++i) {
      ranks.emplace_back([&, i] { found[i] = find_on_all(*group[i], find[i]); });
    }
  }
  return found;
}

TEST(FindOnAll, TakesNoNumberForTheLargestError) {
  const auto fine = [] { return Finding{.error = 1e-6, .worst = "output", .mean_error = 1e-7}; };
  const auto spoilt = [] {
    return Finding{.error = std::nan(""), .worst = "output", .mean_error = std::nan("")};
  };
  for (const Finding& finding : on_all({fine, spoilt, fine})) {
    EXPECT_EQ(finding.error, HUGE_VAL);
    EXPECT_EQ(status_of(finding), Status::wrong);
    Measurement row;
    add_check(finding, Check::reference, row);
    EXPECT_FALSE(row.max_relative_error) << "a result file holds no infinity";
  }
}

TEST(FindOnAll, IsUnsupportedWhereOneRankCannotRunIt) {
  const auto fine = [] { return Finding{}; };
  const auto full = [] { return Finding{.unsupported = "no memory"}; };
  const auto found = on_all({fine, full});
  EXPECT_EQ(found[0].unsupported, "another rank cannot run it");
  EXPECT_EQ(found[1].unsupported, "no memory");
}

TEST(Check, IsYesOrNo) {
  EXPECT_EQ(parse_check("yes"), Check::reference);
  EXPECT_EQ(parse_check("no"), Check::none);
  EXPECT_THROW(parse_check("maybe"), ConfigError);
}

}  // namespace
}  // namespace dlscale::bench
