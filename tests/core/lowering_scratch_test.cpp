// What stages leave to one another in memory beside the tensors.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/convolution/method.hpp"
#include "core/convolution/work.hpp"
#include "core/network/convolution_shape.hpp"

namespace dlscale::lowering {
namespace {

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

}  // namespace
}  // namespace dlscale::lowering
