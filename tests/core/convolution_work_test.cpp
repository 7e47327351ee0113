#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/convolution/method.hpp"
#include "core/convolution/work.hpp"
#include "core/network/convolution_shape.hpp"

namespace dlscale::convolution {
namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

ConvolutionShape shape_of(std::string_view key, int batch) {
  return parse_convolution_key(key, batch)->shape;
}

TEST(DirectWork, LeavesOutTapsOnThePadding) {
  for (const char* key : {"convolution c64 h7 w7 k32 r11 s11 stride1 pad5 groups1",
                          "convolution c6 h9 w12 k4 r3 s5 stride2 pad2 groups2",
                          "convolution c3 h13 w5 k2 r2 s4 stride3 pad1 groups1",
                          "convolution c1 h1 w1 k1 r3 s3 stride1 pad4 groups1",
                          "convolution c5 h6 w6 k7 r1 s1 stride7 pad0 groups1"}) {
    const ConvolutionShape shape = shape_of(key, 3);
    const auto side = [&shape](std::int64_t inputs, std::int64_t taps, std::int64_t outputs) {
      double met = 0;
      for (std::int64_t output = 0; output < outputs; ++output) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t pixel = output * shape.stride + tap - shape.pad;
          met += pixel >= 0 && pixel < inputs ? 1 : 0;
        }
      }
      return met;
    };
    const double taps = side(shape.height, shape.kernel_h, shape.out_height) *
                        side(shape.width, shape.kernel_w, shape.out_width);
    const double maps = static_cast<double>(shape.images * shape.outputs) *
                        static_cast<double>(shape.channels / shape.groups);
    for (const Pass pass : passes) {
      EXPECT_DOUBLE_EQ(algorithm_work(Method::direct, shape, pass).flops().si(), 2 * maps * taps)
          << key << " " << pass_name(pass);
    }
  }
  // (47/77)² of the taps of 11 x 11 filters meet an image of 7 x 7
  const ConvolutionShape wide =
      shape_of("convolution c64 h7 w7 k64 r11 s11 stride1 pad5 groups1", 1);
  EXPECT_NEAR(algorithm_work(Method::direct, wide, Pass::forward).flops() / direct_flops(wide),
              47.0 * 47.0 / (77.0 * 77.0), 1e-12);
}

// What stages leave to one another in memory beside the tensors.

constexpr std::array lowering_scratch_passes{Pass::forward, Pass::backward_data,
                                             Pass::backward_filter};

ConvolutionShape lowering_scratch_shape_of(std::string_view key, int batch) {
  return parse_convolution_key(key, batch)->shape;
}

double scratch_of(const AlgorithmWork& work, std::string_view name) {
  for (const Stage& each : work.stages) {
    if (each.name == name) return each.scratch.si();
  }
  throw std::out_of_range(std::string(name));
}

TEST(Scratch, IsAPartOfTheBytesOfAStage) {
  for (const Method method : all_methods()) {
    for (const Pass pass : lowering_scratch_passes) {
      const ConvolutionShape shape = lowering_scratch_shape_of(
          "convolution c48 h13 w13 k64 r3 s3 stride1 pad1 groups2 bias", 8);
      const AlgorithmWork work = algorithm_work(method, shape, pass, {.bias = true});
      Bytes scratch;
      for (const Stage& each : work.stages) {
        EXPECT_GE(each.scratch.si(), 0) << method_name(method) << " " << each.name;
        EXPECT_LE(each.scratch.si(), each.bytes.si() * (1 + 1e-12))
            << method_name(method) << " " << pass_name(pass) << " " << each.name;
        scratch += each.scratch;
      }
      EXPECT_EQ(scratch.si() > 0, method != Method::direct) << method_name(method);
    }
  }
}

TEST(Scratch, OfALibraryIsNotKnown) {
  const ConvolutionShape shape =
      lowering_scratch_shape_of("convolution c48 h13 w13 k64 r3 s3 stride1 pad1 groups1", 2);
  for (const Method method : all_methods()) {
    for (const Pass pass : lowering_scratch_passes) {
      const AlgorithmWork work = algorithm_work(method, shape, pass, {.blocking = Blocking::whole});
      for (const Stage& each : work.stages) {
        EXPECT_EQ(each.scratch, Bytes()) << method_name(method) << " " << each.name;
      }
    }
  }
}

TEST(Scratch, OfWinogradIsTransformedTilesAndFilters) {
  // 4 images of 14 x 14 tiles, in blocks: filters are transformed once, and read once a block.
  const ConvolutionShape shape =
      lowering_scratch_shape_of("convolution c64 h56 w56 k128 r3 s3 stride1 pad1 groups1", 4);
  const AlgorithmWork work = algorithm_work(Method::winograd_f4, shape, Pass::forward);
  const double floats = 4;
  const double elements = 36;
  const double tiles = 4 * 14 * 14;
  EXPECT_EQ(scratch_of(work, "filter transform"), floats * elements * 64 * 128);
  EXPECT_EQ(scratch_of(work, "input transform"), floats * elements * 64 * tiles);
  EXPECT_EQ(scratch_of(work, "output transform"), floats * elements * 128 * tiles);
  EXPECT_GE(scratch_of(work, "product"), floats * elements * (64 + 128) * tiles);
}

TEST(Scratch, OfIm2colIsPatchesAndTheSumsOfGradients) {
  const ConvolutionShape shape =
      lowering_scratch_shape_of("convolution c6 h20 w20 k8 r3 s3 stride1 pad1 groups1", 1);
  const double patches = 4 * 6 * 9 * 20 * 20;
  const AlgorithmWork forward = algorithm_work(Method::im2col, shape, Pass::forward);
  EXPECT_EQ(scratch_of(forward, "patches"), patches);
  EXPECT_EQ(scratch_of(forward, "product"), patches);
  const double weights = 4 * 8 * 6 * 9;
  const AlgorithmWork back = algorithm_work(Method::im2col, shape, Pass::backward_filter);
  EXPECT_EQ(scratch_of(back, "product"), patches + weights);
  EXPECT_EQ(scratch_of(back, "sum of threads"), weights);
}

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
}  // namespace dlscale::convolution
