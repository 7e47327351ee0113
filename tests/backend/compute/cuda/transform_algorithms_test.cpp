#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <string>

#include "backend/compute/cuda/cudnn/convolution_extras.hpp"
#include "backend/compute/cuda/cudnn/graph_convolution.hpp"
#include "backend/compute/cuda/cudnn/legacy_convolution.hpp"
#include "backend/compute/cuda/cudnn/transform_algorithms.hpp"
#include "backend/compute/cuda/relayout.hpp"
#include "core/base/error.hpp"
#include "core/convolution/method.hpp"

/// What is decided before a device is asked.
namespace dlscale::backend::cuda {
namespace {

TEST(Forms, FuseTheBiasIntoForwardOnly) {
  ConvolutionProblem problem;
  EXPECT_EQ(forms_of(problem, Pass::forward).size(), 1U);
  problem.bias = true;
  const auto forward = forms_of(problem, Pass::forward);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(forward[0].fusion, Fusion::none);
  EXPECT_EQ(forward[1].fusion, Fusion::bias);
  for (const Pass pass : {Pass::backward_data, Pass::backward_filter}) {
    const auto forms = forms_of(problem, pass);
    ASSERT_EQ(forms.size(), 1U);
    EXPECT_EQ(forms[0].fusion, Fusion::none);
    EXPECT_EQ(forms[0].pass, pass);
  }
}

TEST(Forms, FuseBiasAndReluTogether) {
  ConvolutionProblem problem;
  problem.relu = true;
  for (const bool bias : {true, false}) {
    problem.bias = bias;
    const auto forward = forms_of(problem, Pass::forward);
    ASSERT_EQ(forward.size(), 2U);
    EXPECT_EQ(forward[0].fusion, Fusion::none);
    EXPECT_EQ(forward[1].fusion, Fusion::relu);
    EXPECT_EQ(forms_of(problem, Pass::backward_filter).size(), 1U);
  }
}

TEST(Extras, DoWhatTheFormLeavesOut) {
  Context context;
  context.properties.multiProcessorCount = 132;
  ConvolutionProblem problem;
  problem.weights = {8, 3, 3, 3};
  problem.output = {2, 8, 4, 4};
  problem.bias = problem.relu = true;
  const auto left = [&](Fusion fusion) {
    return ConvolutionExtras(context, problem, {.pass = Pass::forward, .fusion = fusion}).name();
  };
  EXPECT_EQ(left(Fusion::none), "+bias+relu");
  EXPECT_EQ(left(Fusion::bias), "+relu");
  EXPECT_EQ(left(Fusion::relu), "");
  problem.bias = false;
  EXPECT_EQ(left(Fusion::none), "+relu");
  EXPECT_EQ(ConvolutionExtras(context, problem, {.pass = Pass::backward_data}).name(), "");
}

TEST(Forms, WriteALowWeightGradientOnlyInLowPrecision) {
  for (const DType dtype : all_dtypes) {
    ConvolutionProblem problem;
    problem.dtype = dtype;
    const auto forms = forms_of(problem, Pass::backward_filter);
    EXPECT_EQ(forms.front().weight_gradient, GradientPrecision::f32);
    ASSERT_EQ(forms.size(), element_bytes(dtype) == 2 ? 2U : 1U);
    if (forms.size() == 2) {
      EXPECT_EQ(forms[1].weight_gradient, GradientPrecision::low);
    }
    EXPECT_EQ(forms_of(problem, Pass::backward_data).size(), 1U);
  }
}

TEST(LegacyAlgorithms, AreThoseOfTheEnumerations) {
  EXPECT_EQ(legacy_algorithm_count(Pass::forward), 8);
  EXPECT_EQ(legacy_algorithm_count(Pass::backward_data), 6);
  EXPECT_EQ(legacy_algorithm_count(Pass::backward_filter), 7);
  EXPECT_EQ(legacy_algorithm_name(Pass::forward, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING),
            "FFT_TILING");
  EXPECT_EQ(legacy_algorithm_name(Pass::forward, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED),
            "WINOGRAD_NONFUSED");
  EXPECT_EQ(legacy_algorithm_name(Pass::backward_data, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD),
            "WINOGRAD");
  EXPECT_EQ(legacy_algorithm_name(Pass::backward_filter, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT),
            "FFT");
  EXPECT_EQ(
      legacy_algorithm_name(Pass::backward_filter, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING),
      "FFT_TILING");
}

TEST(LegacyAlgorithms, HaveDifferentNames) {
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    std::set<std::string> names;
    for (int i = 0; i < legacy_algorithm_count(pass); ++i) {
      names.insert(legacy_algorithm_name(pass, i));
    }
    EXPECT_EQ(static_cast<int>(names.size()), legacy_algorithm_count(pass));
  }
}

std::set<std::string> tried(const ConvolutionProblem& problem) {
  std::set<std::string> names;
  for (const transforms::TransformAlgorithm& algorithm : transforms::transform_algorithms()) {
    if (transforms::is_candidate(algorithm, problem, Pass::forward)) names.emplace(algorithm.name);
  }
  return names;
}

TEST(OwnAlgorithms, AreTriedWhereTheyMayBeFastest) {
  ConvolutionProblem problem{.what = "a layer",
                             .input = {32, 256, 14, 14},
                             .weights = {256, 256, 3, 3},
                             .output = {32, 256, 14, 14},
                             .pad = 1};
  EXPECT_TRUE(tried(problem).contains("winograd_f2"));
  EXPECT_TRUE(tried(problem).contains("winograd_f4"));
  problem.dtype = DType::bf16;
  EXPECT_TRUE(tried(problem).empty());
  problem.dtype = DType::f32;
  problem.weights = {256, 256, 1, 1};
  problem.pad = 0;
  EXPECT_TRUE(tried(problem).empty());
  problem.weights = {256, 256, 5, 5};
  problem.pad = 2;
  EXPECT_TRUE((tried(problem) == std::set<std::string>{"fft", "fft_tiled"}));
  problem.stride = 2;
  problem.output = {32, 256, 7, 7};
  EXPECT_TRUE(tried(problem).empty());
}

/// So that rows by them tell their work: see core/convolution/method.hpp.
TEST(OwnAlgorithms, AreKnownByTheirNames) {
  for (const transforms::TransformAlgorithm& algorithm : transforms::transform_algorithms()) {
    const std::string ran = "own " + std::string(algorithm.name) + " …";
    EXPECT_EQ(convolution::method_of(ran), convolution::parse_method(algorithm.name)) << ran;
    EXPECT_EQ(convolution::method_of("reorder+relu+" + ran),
              convolution::parse_method(algorithm.name));
  }
}

TEST(LegacyAlgorithms, AreNotTakenForOurs) {
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    for (int i = 0; i < legacy_algorithm_count(pass); ++i) {
      EXPECT_FALSE(convolution::method_of("cudnn legacy " + std::to_string(i) + " " +
                                          legacy_algorithm_name(pass, i)));
    }
  }
}

TEST(Relayout, ReordersInputsOnlyForPassesThatReadThem) {
  for (const LayerKind& kind : {LayerKind(Convolution{}), LayerKind(FullyConnected{}),
                                LayerKind(Concat{}), LayerKind(Dropout{})}) {
    EXPECT_TRUE(reads_inputs(kind, Pass::forward));
    EXPECT_TRUE(reads_inputs(kind, Pass::backward_filter));
    EXPECT_FALSE(reads_inputs(kind, Pass::backward_data));
  }
  for (const LayerKind& kind : {LayerKind(Pooling{}), LayerKind(Relu{}), LayerKind(Lrn{}),
                                LayerKind(BatchNorm{}), LayerKind(SoftmaxCrossEntropy{})}) {
    EXPECT_TRUE(reads_inputs(kind, Pass::backward_data));
  }
}

TEST(ScratchPieces, BeginOnBoundaries) {
  EXPECT_EQ(aligned(0), 0U);
  EXPECT_EQ(aligned(1), 256U);
  EXPECT_EQ(aligned(256), 256U);
  EXPECT_EQ(aligned(257), 512U);
  alignas(256) std::array<std::byte, 512> memory{};
  EXPECT_EQ(first_aligned(memory.data()), memory.data());
  EXPECT_EQ(first_aligned(memory.data() + 1), memory.data() + 256);
}

}  // namespace
}  // namespace dlscale::backend::cuda
