#include "backend/compute/native/im2col.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/convolution/pixel_blocks.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"

namespace dlscale::backend::native_device {
namespace {

/// Strides, pads, groups, one channel, one output, kernels as large as the image, maps of one
/// pixel, several images to a block and several blocks to an image.
std::vector<ConvolutionShape> shapes() {
  return {shape_of(2, 3, 9, 7, 5, 3, 3, 1, 1),        shape_of(3, 4, 11, 13, 6, 5, 3, 2, 2),
          shape_of(1, 1, 5, 5, 1, 1, 1, 1, 0),        shape_of(5, 17, 7, 7, 19, 1, 1, 1, 0),
          shape_of(2, 8, 8, 8, 4, 1, 1, 2, 0),        shape_of(2, 6, 10, 6, 9, 3, 3, 1, 1, 3),
          shape_of(2, 4, 6, 6, 3, 6, 6, 1, 0),        shape_of(1, 2, 4, 4, 3, 7, 7, 1, 3),
          shape_of(2, 3, 23, 23, 4, 11, 11, 4, 0),    shape_of(9, 3, 2, 3, 2, 2, 3, 1, 0),
          shape_of(2, 96, 24, 41, 8, 5, 5, 1, 2),     shape_of(1, 1200, 24, 24, 3, 1, 1, 1, 0),
          shape_of(2, 1100, 13, 12, 3, 3, 3, 1, 1, 1)};
}

TEST(Im2col, GivesTheAnswersOfPlainLoops) {
  for (const ConvolutionShape& shape : shapes()) {
    for (const Pass pass : convolution_passes) {
      const PassData data = pass_data(shape, pass);
      for (const int threads : {1, 2, 3, 8}) {
        EXPECT_LE(error_of(*im2col.make(shape, pass, threads), data), 1e-5)
            << shape.images << " images, " << shape.channels << " channels, kernel "
            << shape.kernel_h << ", " << pass_name(pass) << ", " << threads << " threads";
      }
    }
  }
}

TEST(Im2col, WritesNoPatchesWhereTheImageIsTheMatrix) {
  const auto named = [](const ConvolutionShape& shape) {
    return im2col.make(shape, Pass::forward, 1)->implementation();
  };
  EXPECT_EQ(named(shape_of(1, 8, 16, 16, 4, 1, 1, 1, 0)), "gemm");
  EXPECT_EQ(named(shape_of(1, 8, 16, 16, 4, 1, 1, 2, 0)), "im2col+gemm");
}

TEST(Im2col, SaysThatItWritesPatchesOfSeveralImagesWhereEachIsItsMatrix) {
  for (const Pass pass : convolution_passes) {
    const auto named = [pass](std::int64_t images) {
      const auto made = im2col.make(shape_of(images, 2048, 7, 7, 512, 1, 1, 1, 0), pass, 1);
      return std::pair(made->implementation(), made->scratch_bytes() > 0);
    };
    EXPECT_EQ(named(1).first, "gemm");
    EXPECT_EQ(named(8), std::pair(std::string("im2col+gemm"), true)) << pass_name(pass);
  }
}

TEST(Im2col, BoundsItsMemory) {
  // 64 x 3 x 3 weights an output, 224 x 224 pixels: the whole matrix would be 116 MB.
  const auto pass = im2col.make(shape_of(8, 64, 224, 224, 64, 3, 3, 1, 1), Pass::forward, 2);
  EXPECT_LE(pass->scratch_bytes(), 2 * (6U << 20U));
}

TEST(Im2col, BoundsItsMemoryWhereOutputsAreMoreThanPatches) {
  // 9 weights an output and 256 outputs: blocks of several images, whose outputs are held, too.
  const ConvolutionShape shape = shape_of(512, 1, 28, 28, 256, 3, 3, 1, 1);
  for (const Pass pass : convolution_passes) {
    EXPECT_LE(im2col.make(shape, pass, 2)->scratch_bytes(), 2 * (5U << 20U)) << pass_name(pass);
  }
  EXPECT_GT(convolution::cut_pixels(shape, convolution::patch_columns(shape)).front().images(), 1);
}

TEST(Im2col, HoldsNothingOfSingleImagesThatAreTheirPatches) {
  const ConvolutionShape shape = shape_of(2, 64, 112, 112, 32, 1, 1, 1, 0);
  EXPECT_EQ(im2col.make(shape, Pass::forward, 1)->scratch_bytes(), 0U);
}

TEST(ChannelRanges, LeaveSeveralPartsForEachThread) {
  const ConvolutionShape one = shape_of(1, 64, 56, 56, 64, 3, 3, 1, 1);
  EXPECT_EQ(convolution::channel_ranges(one, 1, 1).count(), 1);
  EXPECT_EQ(convolution::channel_ranges(one, 1, 2).count(), 8);
  EXPECT_EQ(convolution::channel_ranges(one, 1, 2).size, 8);
  EXPECT_EQ(convolution::channel_ranges(one, 1, 16).count(), 8) << "of 72 rows or more each";
  EXPECT_EQ(convolution::channel_ranges(one, 3, 2).count(), 3);
  EXPECT_EQ(convolution::channel_ranges(one, 8, 2).count(), 1) << "images enough";
  EXPECT_EQ(convolution::channel_ranges(shape_of(1, 64, 56, 56, 64, 3, 3, 1, 1, 4), 1, 2).count(),
            2)
      << "each group has its own";
  EXPECT_EQ(convolution::channel_ranges(shape_of(1, 3, 56, 56, 64, 3, 3, 1, 1), 1, 4).count(), 1);
}

TEST(ChannelRanges, HoldEveryChannelOnce) {
  for (const std::int64_t channels : {1, 3, 7, 64, 96, 1000}) {
    for (const int threads : {1, 2, 5, 64}) {
      const auto ranges =
          convolution::channel_ranges(shape_of(1, channels, 8, 8, 4, 3, 3, 1, 1), 1, threads);
      std::int64_t held = 0;
      for (std::int64_t first = 0; first < channels; first += ranges.size) {
        EXPECT_GT(ranges.length(first), 0);
        held += ranges.length(first);
      }
      EXPECT_EQ(held, channels);
    }
  }
}

TEST(ImageParts, AreTheBlocksOfTheSameImages) {
  const ConvolutionShape shape = shape_of(3, 1, 8, 6, 1, 3, 3, 1, 1);
  const auto parts_of = [&](std::int64_t columns) {
    const auto blocks = convolution::cut_pixels(shape, columns);
    std::vector<std::size_t> sizes;
    for (const auto& part : convolution::image_parts(blocks)) {
      for (const auto& block : part) EXPECT_EQ(block.first_image, part.front().first_image);
      sizes.push_back(part.size());
    }
    return sizes;
  };
  EXPECT_EQ(parts_of(12), (std::vector<std::size_t>{4, 4, 4}));
  EXPECT_EQ(parts_of(48), (std::vector<std::size_t>{1, 1, 1}));
  EXPECT_EQ(parts_of(96), (std::vector<std::size_t>{1, 1}));
}

TEST(PixelBlocks, HoldEveryPixelOnce) {
  for (const std::int64_t columns : {1, 10, 50, 200, 100000}) {
    const ConvolutionShape shape = shape_of(5, 1, 8, 6, 1, 3, 3, 1, 1);
    std::int64_t pixels = 0;
    convolution::PixelBlock before{0, 0, 0, shape.out_height};
    for (const convolution::PixelBlock& block : convolution::cut_pixels(shape, columns)) {
      pixels += block.columns(shape);
      const bool next_rows =
          block.first_image == before.first_image && block.first_row == before.last_row;
      const bool next_images = block.first_image == before.last_image && block.first_row == 0;
      EXPECT_TRUE(next_rows || next_images) << columns;
      EXPECT_TRUE(block.images() == 1 || block.last_row - block.first_row == shape.out_height);
      before = block;
    }
    EXPECT_EQ(pixels, 5 * 8 * 6) << columns;
  }
}

}  // namespace
}  // namespace dlscale::backend::native_device
