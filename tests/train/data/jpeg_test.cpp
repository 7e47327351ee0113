#include "train/data/jpeg.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "jpeg_writer.hpp"
#include "train/data/synthetic/texture.hpp"

namespace dlscale::train {
namespace {

Pixels decode(std::span<const std::uint8_t> data, int eighths = 8) {
  JpegReader reader;
  reader.open(data);
  Pixels pixels;
  reader.decode(eighths, pixels);
  return pixels;
}

std::array<int, 3> pixel(const Pixels& pixels, int x, int y) {
  const std::uint8_t* p = pixels.row(y) + std::ptrdiff_t{4} * x;
  return {p[0], p[1], p[2]};
}

void expect_colour(const Pixels& pixels, std::array<int, 3> colour, int tolerance) {
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      const auto found = pixel(pixels, x, y);
      for (int c = 0; c < 3; ++c) ASSERT_NEAR(found[c], colour[c], tolerance) << x << ' ' << y;
    }
  }
}

std::vector<std::uint8_t> textured_jpeg() {
  return encode_jpeg(draw_texture({.width = 160, .height = 120}, 3, 8), 90);
}

double brightness(const Pixels& pixels, int x, int y) {
  const auto [red, green, blue] = pixel(pixels, x, y);
  return 0.299 * red + 0.587 * green + 0.114 * blue;
}

// Colours are kept at half the resolution, brightness at the whole.
TEST(Jpeg, ComesBackAlmostAsItWent) {
  const Pixels original = draw_texture({.width = 160, .height = 120}, 3, 0);
  const Pixels back = decode(encode_jpeg(original, 100));
  ASSERT_EQ(back.width, original.width);
  ASSERT_EQ(back.height, original.height);
  for (int y = 0; y < back.height; ++y) {
    for (int x = 0; x < back.width; ++x) {
      ASSERT_NEAR(brightness(back, x, y), brightness(original, x, y), 6) << x << ' ' << y;
    }
  }
}

TEST(Jpeg, DecodesAtEveryEighthOfItsSize) {
  const auto data = rgb_jpeg(101, 67, {200, 100, 50}, Scans::baseline);
  for (int eighths = 1; eighths <= 8; ++eighths) {
    const Pixels pixels = decode(data, eighths);
    EXPECT_EQ(pixels.width, (101 * eighths + 7) / 8);
    EXPECT_EQ(pixels.height, (67 * eighths + 7) / 8);
    expect_colour(pixels, {200, 100, 50}, 2);
  }
}

TEST(Jpeg, ReadsProgressivePictures) {
  expect_colour(decode(rgb_jpeg(50, 40, {10, 220, 90}, Scans::progressive)), {10, 220, 90}, 2);
}

TEST(Jpeg, SpreadsGreyOverThreeChannels) {
  expect_colour(decode(grey_jpeg(33, 20, 77)), {77, 77, 77}, 1);
}

// Adobe stores 255 - ink. Full cyan without black absorbs red only.
TEST(Jpeg, ConvertsCmykToRgb) {
  const auto inverted = cmyk_jpeg(20, 20, {0, 255, 255, 255}, AdobeMarker::present);
  expect_colour(decode(inverted), {0, 255, 255}, 2);
  const auto plain = cmyk_jpeg(20, 20, {255, 0, 0, 0}, AdobeMarker::absent);
  expect_colour(decode(plain), {0, 255, 255}, 2);
  const auto half_black = cmyk_jpeg(20, 20, {255, 128, 255, 128}, AdobeMarker::present);
  expect_colour(decode(half_black), {128, 64, 128}, 2);
}

TEST(Jpeg, IsRefusedWhereverItIsCutOff) {
  const auto data = textured_jpeg();
  JpegReader reader;
  Pixels pixels;
  for (std::size_t length = 0; length < data.size(); length += 1 + length / 7) {
    EXPECT_THROW(
        {
          reader.open(std::span(data).first(length));
          reader.decode(8, pixels);
        },
        JpegError)
        << length << " of " << data.size();
  }
  EXPECT_THROW(decode(std::span(data).first(data.size() - 2)), JpegError);
  EXPECT_NO_THROW(decode(data));
}

TEST(Jpeg, IsRefusedWhenItsDataIsOverwritten) {
  auto data = textured_jpeg();
  std::fill(data.begin() + std::ssize(data) / 2, data.end() - 2, std::uint8_t{0xff});
  EXPECT_THROW(decode(data), JpegError);
}

TEST(Jpeg, SurvivesAnyDamagedByte) {
  const auto intact = textured_jpeg();
  JpegReader reader;
  Pixels pixels;
  for (std::size_t i = 0; i < intact.size(); i += 1 + i / 40) {
    auto data = intact;
    data[i] ^= 0x55;
    try {
      reader.open(data);
      reader.decode(2, pixels);
    } catch (const JpegError&) {
      continue;  // refused or decoded: both are fine, as long as memory stays whole
    }
  }
  reader.open(intact);
  reader.decode(8, pixels);
  EXPECT_EQ(pixels.rgbx, decode(intact).rgbx);
}

TEST(Jpeg, IsToldFromOtherFiles) {
  const std::string text = "\x89PNG\r\n\x1a\n and so on, this is not a JPEG at all";
  const std::vector<std::uint8_t> data(text.begin(), text.end());
  EXPECT_THROW(decode(data), JpegError);
  EXPECT_THROW(decode({}), JpegError);
}

TEST(Jpeg, ThatClaimsToBeHugeIsRefusedBeforeMemoryIsTaken) {
  auto data = textured_jpeg();
  const std::array<std::uint8_t, 2> frame{0xff, 0xc0};
  const auto start = std::search(data.begin(), data.end(), frame.begin(), frame.end());
  ASSERT_NE(start, data.end());
  for (int i = 5; i < 9; ++i) start[i] = 0xfe;  // height and width
  EXPECT_THROW(decode(data), JpegError);
}

TEST(Jpeg, GrowsWithQualityAndNoise) {
  const DataSetSpec spec{.width = 160, .height = 120};
  const auto size = [&](double noise, int quality) {
    return encode_jpeg(draw_texture(spec, 0, noise), quality).size();
  };
  EXPECT_LT(size(10, 50), size(10, 80));
  EXPECT_LT(size(5, 80), size(10, 80));
}

}  // namespace
}  // namespace dlscale::train
