#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "jpeg_writer.hpp"
#include "message.hpp"
#include "temporary_folder.hpp"
#include "train/data/augment.hpp"
#include "train/data/data.hpp"
#include "train/data/file.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/synthetic/texture.hpp"

namespace dlscale::train {
namespace {

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

  TemporaryFolder folder_;
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
