#include "bench/conv/algorithmic_work.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace dlscale::bench {
namespace {

constexpr const char* key = "convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1";

TEST(AlgorithmicWork, IsThatOfTheAlgorithmThatRan) {
  const MeasuredKernel kernel{.key = key, .batch = 4};
  const auto direct = algorithmic_work("onednn", "jit:avx512_core", kernel);
  const auto winograd = algorithmic_work("native", "winograd F(4x4,3x3) avx3+gemm", kernel);
  const auto fft = algorithmic_work("native", "reorder+fft_tiled 16x16 avx3+gemm", kernel);
  ASSERT_TRUE(direct && winograd && fft);
  EXPECT_DOUBLE_EQ(direct->flops.si(), 2.0 * 4 * 64 * 64 * 9 * 56 * 56);
  EXPECT_LT(winograd->flops, 0.5 * direct->flops);
  EXPECT_GT(winograd->bytes, direct->bytes);
  EXPECT_NE(fft->flops, direct->flops);
}

TEST(AlgorithmicWork, IsUnknownWhereTheAlgorithmIs) {
  const MeasuredKernel kernel{.key = key, .batch = 4};
  EXPECT_FALSE(algorithmic_work("cuda", "engine 34", kernel));
  EXPECT_FALSE(
      algorithmic_work("onednn", "jit:avx512_core", {.key = "relu c64 h56 w56", .batch = 4}));
  MeasuredKernel low = kernel;
  low.dtype = DType::bf16;
  EXPECT_FALSE(algorithmic_work("onednn", "brgconv:avx512_core_bf16", low));
  MeasuredKernel strided = kernel;
  strided.key = "convolution c64 h56 w56 k64 r3 s3 stride2 pad1 groups1";
  EXPECT_FALSE(algorithmic_work("native", "winograd F(4x4,3x3) avx3+gemm", strided));
}

}  // namespace
}  // namespace dlscale::bench
