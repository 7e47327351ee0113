#include <gtest/gtest.h>

#include <limits>

#include "temporary_folder.hpp"
#include "train/data/data.hpp"

namespace dlscale::train {
namespace {

constexpr ImageShape learnable_shape{3, 8, 8};

std::vector<float> thumbnail(const DataSet::Picture& picture, std::uint64_t seed) {
  std::vector<float> out(learnable_shape.elements());
  load_picture(picture, learnable_shape, seed, out);
  return out;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// The mean thumbnail of each class, of the first half of the pictures.
std::vector<std::vector<float>> centroids(const DataSet& data) {
  std::vector<std::vector<float>> means(data.classes.size(),
                                        std::vector<float>(learnable_shape.elements()));
  std::vector<float> counts(data.classes.size());
  for (std::size_t i = 0; i < data.pictures.size() / 2; ++i) {
    const auto label = data.pictures[i].label;
    const auto image = thumbnail(data.pictures[i], i);
    for (std::size_t j = 0; j < image.size(); ++j) means[label][j] += image[j];
    ++counts[label];
  }
  for (std::size_t c = 0; c < means.size(); ++c) {
    for (float& value : means[c]) value /= counts[c];
  }
  return means;
}

std::int32_t nearest(const std::vector<std::vector<float>>& means,
                     const std::vector<float>& image) {
  std::int32_t best = 0;
  for (std::size_t c = 1; c < means.size(); ++c) {
    if (distance(means[c], image) < distance(means[best], image)) {
      best = static_cast<std::int32_t>(c);
    }
  }
  return best;
}

// A network must be able to learn the classes from random crops; chance is one in ten.
TEST(DataSet, CanBeLearntByTheSimplestOfClassifiers) {
  const TemporaryFolder folder;
  const DataSet data = make_data_set(folder / "set", {.classes = 10,
                                                      .pictures = 160,
                                                      .width = 120,
                                                      .height = 90,
                                                      .target_bytes = 7000,
                                                      .seed = 2});
  const auto means = centroids(data);
  int right = 0;
  const std::size_t half = data.pictures.size() / 2;
  for (std::size_t i = half; i < data.pictures.size(); ++i) {
    right += nearest(means, thumbnail(data.pictures[i], i)) == data.pictures[i].label ? 1 : 0;
  }
  EXPECT_GT(right, half / 2);
}

}  // namespace
}  // namespace dlscale::train
