#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"
#include "jpeg_writer.hpp"
#include "message.hpp"
#include "tests/core/support.hpp"
#include "train/data/augment.hpp"
#include "train/data/data.hpp"
#include "train/data/file.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/synthetic/texture.hpp"

namespace dlscale::train {
namespace {

constexpr std::array<double, 3> mean{0.485, 0.456, 0.406};
constexpr std::array<double, 3> deviation{0.229, 0.224, 0.225};

double normalised(double value, int channel) {
  return (value / 255 - mean[channel]) / deviation[channel];
}

std::vector<float> run(const Pixels& pixels, const Augmentation& augmentation, ImageShape shape) {
  std::vector<float> out(shape.elements());
  Augmenter().run(pixels, augmentation, shape, out);
  return out;
}

Augmentation whole(const Pixels& pixels) {
  return {{0, 0, double{1} * pixels.width, double{1} * pixels.height}, false};
}

/// Weights of all pixels of a line for one output pixel, straight from the definition.
std::vector<double> triangle(double start, double length, int in, int out, int i) {
  const double step = length / out;
  const double reach = std::max(1.0, step);
  std::vector<double> weights(in);
  double sum = 0;
  for (int j = 0; j < in; ++j) {
    weights[j] = std::max(0.0, 1 - std::abs(j + 0.5 - (start + (i + 0.5) * step)) / reach);
    sum += weights[j];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

double expected(const Pixels& pixels, const Crop& crop, ImageShape shape, int c, int y, int x) {
  const auto across = triangle(crop.left, crop.width, pixels.width, shape.width, x);
  const auto down = triangle(crop.top, crop.height, pixels.height, shape.height, y);
  double sum = 0;
  for (int v = 0; v < pixels.height; ++v) {
    for (int u = 0; u < pixels.width; ++u) sum += down[v] * across[u] * pixels.row(v)[4 * u + c];
  }
  return normalised(sum, c);
}

TEST(Augmenter, ResizesAsTheDefinitionSays) {
  const Pixels pixels = draw_texture({.width = 60, .height = 44}, 1, 20);
  const ImageShape shape{3, 9, 13};
  for (const Crop& crop : {Crop{0, 0, double{1} * pixels.width, double{1} * pixels.height},
                           Crop{3, 5, 30, 21}, Crop{2.5, 1.25, 6.5, 5.75}, Crop{10, 10, 1, 1}}) {
    const auto out = run(pixels, {crop, false}, shape);
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < shape.height; ++y) {
        for (int x = 0; x < shape.width; ++x) {
          EXPECT_NEAR(out[(c * shape.height + y) * shape.width + x],
                      expected(pixels, crop, shape, c, y, x), 1e-4);
        }
      }
    }
  }
}

TEST(Augmenter, LeavesAPictureOfTheRightSizeAsItIs) {
  const Pixels pixels = draw_texture({.width = 40, .height = 32}, 2, 20);
  const ImageShape shape{3, pixels.height, pixels.width};
  const auto out = run(pixels, whole(pixels), shape);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        ASSERT_NEAR(out[(c * shape.height + y) * shape.width + x],
                    normalised(pixels.row(y)[4 * x + c], c), 1e-5);
      }
    }
  }
}

TEST(Augmenter, MirrorsLeftAndRight) {
  const Pixels pixels = draw_texture({.width = 60, .height = 44}, 1, 20);
  const ImageShape shape{3, 10, 14};
  Augmentation augmentation = whole(pixels);
  auto straight = run(pixels, augmentation, shape);
  augmentation.mirrored = true;
  const auto mirrored = run(pixels, augmentation, shape);
  for (auto row = straight.begin(); row != straight.end(); row += shape.width) {
    std::reverse(row, row + shape.width);
  }
  EXPECT_EQ(straight, mirrored);
}

std::vector<std::uint8_t> run_to_bytes(const Pixels& pixels, const Augmentation& augmentation,
                                       ImageShape shape) {
  std::vector<std::uint8_t> out(shape.elements());
  Augmenter().run(pixels, augmentation, shape, out);
  return out;
}

TEST(Augmenter, RoundsBytesToTheNearest) {
  const Pixels pixels = draw_texture({.width = 60, .height = 44}, 1, 20);
  const ImageShape shape{3, 9, 13};
  for (const bool mirrored : {false, true}) {
    const Augmentation augmentation{{3, 5, 30, 21}, mirrored};
    const auto floats = run(pixels, augmentation, shape);
    const auto bytes = run_to_bytes(pixels, augmentation, shape);
    for (int c = 0; c < 3; ++c) {
      for (int i = 0; i < shape.height * shape.width; ++i) {
        const double value = floats[c * shape.height * shape.width + i];
        EXPECT_NEAR(normalised(bytes[3 * i + c], c), value, 0.5 / 255 / deviation[c] + 1e-5);
      }
    }
  }
}

TEST(Augmenter, KeepsTheBytesOfAPictureOfTheRightSize) {
  const Pixels pixels = draw_texture({.width = 40, .height = 32}, 2, 20);
  const ImageShape shape{3, pixels.height, pixels.width};
  const auto out = run_to_bytes(pixels, whole(pixels), shape);
  for (int y = 0; y < shape.height; ++y) {
    for (int i = 0; i < 3 * shape.width; ++i) {
      ASSERT_EQ(out[3 * shape.width * y + i], pixels.row(y)[i / 3 * 4 + i % 3]);
    }
  }
}

TEST(Augmenter, KeepsBlackAndWhiteBytes) {
  for (const std::uint8_t value : std::array<std::uint8_t, 4>{0, 1, 254, 255}) {
    const Pixels pixels{31, 17, std::vector<std::uint8_t>(std::size_t{4} * 31 * 17, value)};
    for (const std::uint8_t byte : run_to_bytes(pixels, {{3, 2, 20.5, 11.25}, true}, {3, 23, 8})) {
      ASSERT_EQ(byte, value);
    }
  }
}

TEST(Augmenter, KeepsAConstantConstant) {
  Pixels pixels{31, 17, std::vector<std::uint8_t>(std::size_t{4} * 31 * 17, 200)};
  const ImageShape shape{3, 23, 8};
  const auto out = run(pixels, {{3, 2, 20, 11}, true}, shape);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_NEAR(out[i], normalised(200, static_cast<int>(i / (std::size_t{23} * 8))), 1e-5);
  }
}

TEST(Augmenter, WantsThreeChannelsAndTheRightRoom) {
  const Pixels pixels = draw_texture({.width = 40, .height = 32}, 2, 20);
  std::vector<float> out(std::size_t{3} * 8 * 8);
  EXPECT_THROW(Augmenter().run(pixels, whole(pixels), {1, 8, 8}, out), std::logic_error);
  EXPECT_THROW(Augmenter().run(pixels, whole(pixels), {3, 8, 9}, out), std::logic_error);
  std::vector<std::uint8_t> bytes(std::size_t{3} * 8 * 8);
  EXPECT_THROW(Augmenter().run(pixels, whole(pixels), {3, 8, 9}, bytes), std::logic_error);
}

/// The mean share of the picture that a crop covers, by integration: shares are uniform between
/// 0.08 and 1 and ratios in their logarithm; those that do not fit are drawn again.
double expected_share(PictureSize picture) {
  const double own_ratio = double{1} * picture.width / picture.height;
  constexpr int steps = 400;
  double sum = 0;
  double weight = 0;
  for (int i = 0; i < steps; ++i) {
    const double relative = 0.75 * std::pow(16.0 / 9, (i + 0.5) / steps) / own_ratio;
    const double greatest = std::min({1.0, relative, 1 / relative});
    if (greatest <= 0.08) continue;
    weight += greatest - 0.08;
    sum += (greatest - 0.08) * (greatest + 0.08) / 2;
  }
  return sum / weight;
}

class CropStatistics : public testing::TestWithParam<PictureSize> {};

TEST_P(CropStatistics, AreThoseOfTorchvision) {
  const PictureSize picture = GetParam();
  RandomStream random(11);
  constexpr int n = 4000;
  double area = 0;
  double place = 0;
  int mirrored = 0;
  int roomy = 0;
  for (int i = 0; i < n; ++i) {
    const auto [crop, mirror] = draw_augmentation(picture, random);
    ASSERT_GE(crop.left, 0);
    ASSERT_GE(crop.top, 0);
    ASSERT_LE(crop.left + crop.width, picture.width);
    ASSERT_LE(crop.top + crop.height, picture.height);
    ASSERT_NEAR(std::clamp(crop.width / crop.height, 0.75, 4.0 / 3), crop.width / crop.height,
                0.02);
    area += crop.width * crop.height / (double{1} * picture.width * picture.height);
    mirrored += mirror ? 1 : 0;
    if (picture.width > crop.width) {
      place += crop.left / (picture.width - crop.width);
      ++roomy;
    }
  }
  EXPECT_NEAR(area / n, expected_share(picture), 0.02);
  EXPECT_NEAR(place / roomy, 0.5, 0.03);
  EXPECT_NEAR(1.0 * mirrored / n, 0.5, 0.04);  // five standard deviations
}

INSTANTIATE_TEST_SUITE_P(Pictures, CropStatistics,
                         testing::Values(PictureSize{500, 375}, PictureSize{375, 500},
                                         PictureSize{400, 400}, PictureSize{600, 300}));

TEST(Crop, OfAStripIsItsMiddle) {
  RandomStream random(1);
  const Crop wide = draw_augmentation({1000, 10}, random).crop;
  EXPECT_EQ(wide.height, 10);
  EXPECT_EQ(wide.width, 13);
  EXPECT_EQ(wide.left, 493);
  const Crop tall = draw_augmentation({12, 1000}, random).crop;
  EXPECT_EQ(tall.width, 12);
  EXPECT_EQ(tall.height, 16);
  EXPECT_EQ(tall.top, 492);
}

TEST(Crop, OfOnePixelIsThatPixel) {
  RandomStream random(1);
  for (int i = 0; i < 50; ++i) {
    const Crop crop = draw_augmentation({1, 1}, random).crop;
    EXPECT_EQ(crop.width, 1);
    EXPECT_EQ(crop.height, 1);
    EXPECT_EQ(crop.left, 0);
  }
}

TEST(DecodeEighths, NeverGivesFewerPixelsThanTheNetworkWants) {
  const ImageShape shape{3, 224, 227};
  EXPECT_EQ(decode_eighths({0, 0, 227, 224}, shape), 8);
  EXPECT_EQ(decode_eighths({0, 0, 100, 100}, shape), 8);
  EXPECT_EQ(decode_eighths({0, 0, 453, 448}, shape), 8);
  EXPECT_EQ(decode_eighths({0, 0, 454, 448}, shape), 4);
  EXPECT_EQ(decode_eighths({0, 0, 4000, 447}, shape), 8);
  EXPECT_EQ(decode_eighths({0, 0, 908, 896}, shape), 2);
  EXPECT_EQ(decode_eighths({0, 0, 8000, 8000}, shape), 1);
}

constexpr ImageShape cropped_shape{3, 24, 32};

class Picture : public testing::Test {
 protected:
  DataSet::Picture store(const std::string& name, const std::vector<std::uint8_t>& bytes) {
    write_file(folder_ / name, bytes);
    return {folder_ / name, 0, std::ssize(bytes)};
  }
  std::vector<float> load(const DataSet::Picture& picture, std::uint64_t seed = 1,
                          ImageShape wanted = cropped_shape) {
    std::vector<float> out(wanted.elements(), NAN);
    times_ = load_picture(picture, wanted, seed, out);
    return out;
  }
  std::string refusal(const DataSet::Picture& picture) {
    std::string message = config_error([&] { load(picture); });
    EXPECT_TRUE(contains(message, picture.path.string())) << message;
    return message;
  }

  test::TemporaryFolder folder_;
  LoadTimes times_;
};

std::vector<std::uint8_t> texture(int width, int height) {
  return encode_jpeg(draw_texture({.width = width, .height = height}, 1, 10), 90);
}

TEST_F(Picture, IsTheSameForTheSameSeedOnly) {
  const auto picture = store("a.jpg", texture(120, 90));
  EXPECT_EQ(load(picture, 7), load(picture, 7));
  EXPECT_NE(load(picture, 7), load(picture, 8));
}

TEST_F(Picture, FillsTheWholeImageWithPlausibleValues) {
  const auto out = load(store("a.jpg", texture(120, 90)));
  for (const float value : out) {
    ASSERT_GE(value, -2.2F);  // (0 - 0.485) / 0.229 = -2.12
    ASSERT_LE(value, 2.7F);   // (1 - 0.406) / 0.225 = 2.64
  }
}

TEST_F(Picture, ReportsTheTimeOfEachPart) {
  load(store("a.jpg", texture(400, 300)));
  EXPECT_GT(times_.read, Seconds(0));
  EXPECT_GT(times_.decode, Seconds(0));
  EXPECT_GT(times_.augment, Seconds(0));
  EXPECT_GT(times_.ended, times_.started);
}

// The crop of a large picture is decoded at a fraction of its size; it must still be that crop.
TEST_F(Picture, LooksTheSameWhenDecodedSmaller) {
  const auto data = texture(900, 700);
  JpegReader reader;
  const PictureSize size = reader.open(data);
  Pixels pixels;
  reader.decode(8, pixels);
  const auto picture = store("a.jpg", data);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    RandomStream random(seed);
    const Augmentation augmentation = draw_augmentation(size, random);
    ASSERT_LT(decode_eighths(augmentation.crop, cropped_shape), 8);
    std::vector<float> whole(cropped_shape.elements());
    Augmenter().run(pixels, augmentation, cropped_shape, whole);
    const auto scaled = load(picture, seed);
    double difference = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) difference += std::abs(whole[i] - scaled[i]);
    EXPECT_LT(difference / static_cast<double>(whole.size()), 0.05);
  }
}

TEST_F(Picture, MayBeGreyOrCmyk) {
  const auto grey = load(store("grey.jpg", grey_jpeg(50, 40, 100)));
  EXPECT_NEAR(grey.front(), (100 / 255.0 - 0.485) / 0.229, 0.03);
  EXPECT_NEAR(grey.back(), (100 / 255.0 - 0.406) / 0.225, 0.03);
  const auto cyan =
      load(store("cmyk.jpg", cmyk_jpeg(50, 40, {0, 255, 255, 255}, AdobeMarker::present)));
  EXPECT_NEAR(cyan.front(), -0.485 / 0.229, 0.05);
  EXPECT_NEAR(cyan.back(), (1 - 0.406) / 0.225, 0.05);
}

TEST_F(Picture, MayBeASinglePixel) {
  const auto out = load(store("dot.jpg", rgb_jpeg(1, 1, {255, 255, 255}, Scans::baseline)));
  EXPECT_NEAR(out.front(), (1 - 0.485) / 0.229, 0.05);
}

TEST_F(Picture, ThatIsTruncatedIsRefused) {
  auto bytes = texture(120, 90);
  for (const double kept : {0.99, 0.5, 0.01}) {
    bytes.resize(static_cast<std::size_t>(static_cast<double>(bytes.size()) * kept));
    EXPECT_TRUE(contains(refusal(store("a.jpg", bytes)), "truncated"));
  }
}

TEST_F(Picture, ThatIsEmptyIsRefused) {
  EXPECT_TRUE(contains(refusal(store("a.jpg", {})), "empty"));
}

TEST_F(Picture, ThatIsMissingIsRefused) {
  EXPECT_TRUE(contains(refusal({folder_ / "gone.jpg", 0, 1}), "No such file"));
}

TEST_F(Picture, ThatIsAFolderIsRefused) {
  refusal({folder_.path(), 0, 1});
}

TEST_F(Picture, ThatIsAPipeIsRefusedWithoutWaitingForAWriter) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe.jpg").c_str(), 0600), 0);
  refusal({folder_ / "pipe.jpg", 0, 1});
}

TEST_F(Picture, ThatIsNoJpegIsRefused) {
  const std::string text = "GIF89a is another format";
  EXPECT_TRUE(contains(refusal(store("a.jpg", {text.begin(), text.end()})), "no JPEG"));
}

}  // namespace
}  // namespace dlscale::train
