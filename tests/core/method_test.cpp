#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/convolution/method.hpp"
#include "core/network/convolution_shape.hpp"

namespace dlscale::lowering {
namespace {

TEST(ConvolutionKey, GivesTheShapeBack) {
  const auto found = parse_convolution_key(
      "convolution c3 h227 w227 k96 r11 s11 stride4 pad0 groups1 bias consumers2", 8);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->bias);
  EXPECT_EQ(found->shape, (ConvolutionShape{.images = 8,
                                            .channels = 3,
                                            .height = 227,
                                            .width = 227,
                                            .outputs = 96,
                                            .out_height = 55,
                                            .out_width = 55,
                                            .kernel_h = 11,
                                            .kernel_w = 11,
                                            .stride = 4,
                                            .pad = 0,
                                            .groups = 1}));
}

TEST(ConvolutionKey, OfAnotherLayerIsNone) {
  EXPECT_FALSE(parse_convolution_key("relu c3 h2 w2", 1));
  EXPECT_FALSE(parse_convolution_key("", 1));
}

TEST(ConvolutionKey, WithSizesThatLackOrContradictIsRefused) {
  for (const char* key : {"convolution c3 h8 w8 k4 r3 s3 stride1 pad1",           // groups
                          "convolution c3 h8 w8 k4 r3 s3 stride0 pad1 groups1",   // stride
                          "convolution c3 h8 w8 k4 r9 s9 stride1 pad0 groups1",   // filter
                          "convolution c3 h8 w8 k4 r3 s3 stride1 pad1 groups2",   // channels
                          "convolution c3 h8 w8 k4 r3 s3 stride1 pad1 groups1x",  // text
                          "convolution c99999999 h8 w8 k4 r3 s3 stride1 pad1 groups1"}) {
    EXPECT_THROW((void)parse_convolution_key(key, 1), ConfigError) << key;
  }
}

TEST(Method, IsToldFromWhatRan) {
  const std::pair<const char*, Method> words[] = {
      {"winograd F(4x4,3x3) avx3+gemm", Method::winograd_f4},
      {"winograd F(3x3,6x6) avx2+gemm", Method::winograd_f6},
      {"winograd F(4x4,3x3) fused avx3+gemm", Method::winograd_f4_fused},
      {"relu+winograd F(3x3,2x2) fused avx3+gemm", Method::winograd_f2_fused},
      {"reorder+jit:avx512_core", Method::direct},
      {"relu+reorder+im2col+gemm", Method::im2col},
      {"reorder+relu+im2col+gemm", Method::im2col},
      {"winograd F(4x4,3x3) avx3+gemm+relu", Method::winograd_f4},
      {"jit_wino_4x3:avx512_core", Method::winograd_f4},
      {"brgconv:avx512_core", Method::direct},
      {"brdgmm_dw:avx512_core", Method::direct},
      {"ip:any+gemm:jit", Method::direct},
      {"im2col+gemm", Method::im2col},
      {"gemm", Method::im2col},
      {"gemm:jit", Method::im2col},
      {"x64:gemm:jit", Method::im2col},
      {"reorder+x64:gemm:blas", Method::im2col},
      {"fft 32x32 avx3+gemm", Method::fft},
      {"fft_tiled 16x16 avx3+gemm", Method::fft_tiled},
      {"fft_fftw 32x32 fftw-3.3.10-sse2-avx+gemm", Method::fft_fftw},
      {"relu+fft_tiled_fftw 16x16 fftw-3.3.10-sse2-avx+gemm", Method::fft_tiled_fftw},
      {"fft_mkl 32x32 mkl-2026.2+gemm", Method::fft_mkl},
      {"fft_tiled_mkl 16x16 mkl-2026.2+gemm", Method::fft_tiled_mkl},
      {"own winograd_f2 F(2x2,3x3) cublasLt algo=6", Method::winograd_f2},
      {"relu+own winograd_f4 F(3x3,4x4) cublasLt algo=6+bias", Method::winograd_f4},
      {"reorder+own fft 30x30 cufft cublasLt algo=6", Method::fft},
      {"own fft_tiled 16x16 cufft cublasLt algo=6", Method::fft_tiled}};
  for (const auto& [implementation, method] : words) {
    EXPECT_EQ(method_of(implementation), method) << implementation;
  }
  for (const char* unknown :
       {"cudnn engine 12", "cudnn 9.19 eng45 k2=4 [WINOGRAD] ws=0.0MB", "cudnn legacy 6 WINOGRAD",
        "x64:gemm_s8u8s32:jit", "own:relu", "own", "fft_other 32x32 other-1.0+gemm"}) {
    EXPECT_FALSE(method_of(unknown)) << unknown;
  }
  EXPECT_FALSE(method_of(""));
}

TEST(Method, IsToldOfTransformsByAnInstructionSetOnlyWhoseVectorsAreKnown) {
  EXPECT_EQ(vector_floats("fft 32x32 avx2+gemm"), 8);
  EXPECT_EQ(vector_floats("fft 32x32 avx3_zen4+gemm"), 16);
  EXPECT_EQ(vector_floats("winograd F(4x4,3x3) sse4+gemm"), 4);
  EXPECT_EQ(vector_floats("winograd F(4x4,3x3) ssse3+gemm"), 4);
  EXPECT_EQ(vector_floats("winograd F(4x4,3x3) neon_without_aes+gemm"), 4);
  EXPECT_EQ(vector_floats("winograd F(4x4,3x3) ppc9+gemm"), 4);
  EXPECT_EQ(vector_floats("winograd F(4x4,3x3) wasm_emu256+gemm"), 8);
  EXPECT_EQ(vector_floats("winograd F(4x4,3x3) scalar+gemm"), 1);
  for (const char* set : {"avx9", "sve_256", "rvv"}) {
    for (const char* beginning : {"winograd F(4x4,3x3) ", "relu+winograd F(3x3,2x2) fused ",
                                  "reorder+fft 32x32 ", "fft_tiled 16x16 "}) {
      EXPECT_FALSE(method_of(std::string(beginning) + set + "+gemm")) << beginning << set;
    }
  }
}

TEST(Method, FollowsFromOneTable) {
  for (const Method method : all_methods()) {
    const std::string name(method_name(method));
    const bool winograd = name.starts_with("winograd_f");
    EXPECT_EQ(family_of(method) == MethodFamily::winograd, winograd) << name;
    EXPECT_EQ(transforms_tiles(method), name.starts_with("fft_tiled")) << name;
    EXPECT_EQ(transforms_images(method), name.starts_with("fft") && !transforms_tiles(method))
        << name;
    EXPECT_EQ(by_library(method), name.ends_with("_fftw") || name.ends_with("_mkl")) << name;
    EXPECT_EQ(is_fused(method), name.ends_with("_fused")) << name;
    if (!winograd) continue;
    EXPECT_EQ(winograd_outputs(method), name.at(10) - '0') << name;
    EXPECT_EQ(winograd_schedule(method), is_fused(method) ? Schedule::fused : Schedule::staged);
  }
  EXPECT_EQ(all_methods().back(), last_method);
}

TEST(Method, IsCalledByItsNameAndNoOther) {
  for (const Method method : all_methods()) EXPECT_EQ(parse_method(method_name(method)), method);
  EXPECT_THROW((void)parse_method("winograd_f3"), ConfigError);
}

}  // namespace
}  // namespace dlscale::lowering
