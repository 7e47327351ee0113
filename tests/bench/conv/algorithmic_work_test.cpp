#include "bench/conv/step_bench.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

constexpr const char* key = "convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1";

TEST(AlgorithmicWork, IsThatOfTheAlgorithmThatRan) {
  const MeasuredKernel kernel{.key = key, .batch = 4};
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
  const MeasuredKernel kernel{.key = key, .batch = 4};
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
  MeasuredKernel kernel{.key = key, .batch = 4};
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
  const MeasuredKernel single{.key = key, .batch = 4};
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
  const MeasuredKernel kernel{.key = key, .batch = 4};
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

}  // namespace
}  // namespace dlscale::bench
