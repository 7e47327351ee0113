#include "train/data/augment.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::train {
namespace {

constexpr double least_area = 0.08;
constexpr double least_ratio = 3.0 / 4.0;
constexpr double greatest_ratio = 4.0 / 3.0;

Crop central_crop(PictureSize picture) {
  const double ratio = double{1} * picture.width / picture.height;
  const double width =
      ratio > greatest_ratio ? std::round(picture.height * greatest_ratio) : picture.width;
  const double height =
      ratio < least_ratio ? std::round(picture.width / least_ratio) : picture.height;
  return {std::floor((picture.width - width) / 2), std::floor((picture.height - height) / 2), width,
          height};
}

Crop draw_crop(PictureSize picture, RandomStream& random) {
  constexpr int attempts = 10;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const double area = random.uniform(least_area, 1.0) * picture.width * picture.height;
    const double ratio = std::exp(random.uniform(std::log(least_ratio), std::log(greatest_ratio)));
    const double width = std::round(std::sqrt(area * ratio));
    const double height = std::round(std::sqrt(area / ratio));
    if (width < 1 || width > picture.width || height < 1 || height > picture.height) continue;
    const double left = std::floor(random.uniform() * (picture.width - width + 1));
    const double top = std::floor(random.uniform() * (picture.height - height + 1));
    return {left, top, width, height};
  }
  return central_crop(picture);
}

/// into[i] += weight · row[i], vectorised by the compiler.
void add_scaled(const std::uint8_t* __restrict row, float weight, float* __restrict into,
                std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) into[i] += weight * static_cast<float>(row[i]);
}

/// Normalises one row of four floats a pixel and stores it in three planes.
void store_row(std::span<const float> row, ImageShape shape, int y, bool mirrored,
               std::span<float> out) {
  const int width = shape.width;
  const auto& [mean, deviation] = imagenet_statistics;
  for (int c = 0; c < 3; ++c) {
    const float scale = 1.0F / (255.0F * deviation[c]);
    const float shift = -mean[c] / deviation[c];
    float* plane = out.data() + (std::int64_t{c} * shape.height + y) * width;
    const float* values = row.data() + c;
    if (mirrored) {
      for (int x = 0; x < width; ++x)
        plane[width - 1 - x] = values[std::ptrdiff_t{4} * x] * scale + shift;
    } else {
      for (int x = 0; x < width; ++x) plane[x] = values[std::ptrdiff_t{4} * x] * scale + shift;
    }
  }
}

/// Stores one row of four floats a pixel as three bytes a pixel.
void store_row(std::span<const float> row, ImageShape shape, int y, bool mirrored,
               std::span<std::uint8_t> out) {
  const int width = shape.width;
  std::uint8_t* pixels = out.data() + std::ptrdiff_t{3} * width * y;
  for (int x = 0; x < width; ++x) {
    const float* values = row.data() + std::ptrdiff_t{4} * x;
    std::uint8_t* bytes = pixels + std::ptrdiff_t{3} * (mirrored ? width - 1 - x : x);
    // Weights are not negative and add up to 1 within rounding.
    for (int c = 0; c < 3; ++c) {
      bytes[c] = static_cast<std::uint8_t>(std::min(values[c] + 0.5F, 255.0F));
    }
  }
}

}  // namespace

Augmentation draw_augmentation(PictureSize picture, RandomStream& random) {
  Augmentation augmentation;
  augmentation.crop = draw_crop(picture, random);
  augmentation.mirrored = random.uniform() < 0.5;
  return augmentation;
}

int decode_eighths(const Crop& crop, ImageShape shape) {
  for (const int eighths : {1, 2, 4}) {
    if (crop.width * eighths >= 8.0 * shape.width && crop.height * eighths >= 8.0 * shape.height) {
      return eighths;
    }
  }
  return 8;
}

void Augmenter::Filter::set(double start, double length, int in, int out) {
  const double step = length / out;
  const double support = std::max(step, 1.0);
  count = std::min(in, static_cast<int>(std::ceil(2 * support)) + 1);
  first.assign(out, 0);
  weights.assign(std::size_t{1} * out * count, 0.0F);
  for (int i = 0; i < out; ++i) {
    const double center = start + (i + 0.5) * step;
    const int lowest = static_cast<int>(std::floor(center - support));
    first[i] = std::clamp(lowest, 0, in - count);
    const auto weight = [&](int t) {
      return std::max(0.0, 1.0 - std::abs(first[i] + t + 0.5 - center) / support);
    };
    double sum = 0;
    for (int t = 0; t < count; ++t) sum += weight(t);
    for (int t = 0; t < count; ++t) {
      weights[std::size_t{1} * i * count + t] = static_cast<float>(weight(t) / sum);
    }
  }
}

void Augmenter::blend_rows(const Pixels& pixels, int y, int first_column, int columns) {
  const std::size_t n = std::size_t{4} * columns;
  wide_row_.assign(n, 0.0F);
  for (int t = 0; t < down_.count; ++t) {
    const float weight = down_.weights[std::size_t{1} * y * down_.count + t];
    const std::uint8_t* row = pixels.row(down_.first[y] + t) + std::size_t{4} * first_column;
    if (weight != 0.0F) add_scaled(row, weight, wide_row_.data(), n);
  }
}

void Augmenter::blend_columns(int first_column) {
  const int count = across_.count;
  const float* weights = across_.weights.data();
  for (std::size_t x = 0; x < across_.first.size(); ++x, weights += count) {
    const float* values = wide_row_.data() + std::size_t{4} * (across_.first[x] - first_column);
    std::array<float, 4> sum{};
    for (int t = 0; t < count; ++t) {
      for (int c = 0; c < 4; ++c) sum[c] += weights[t] * values[4 * t + c];
    }
    std::copy(sum.begin(), sum.end(), narrow_row_.begin() + 4 * static_cast<std::ptrdiff_t>(x));
  }
}

void Augmenter::run(const Pixels& pixels, const Augmentation& augmentation, ImageShape shape,
                    ImageRoom out) {
  const auto room = std::visit([](const auto& span) { return std::ssize(span); }, out);
  EXPECT(shape.channels == 3 && room == shape.elements());
  const Crop& crop = augmentation.crop;
  across_.set(crop.left, crop.width, pixels.width, shape.width);
  down_.set(crop.top, crop.height, pixels.height, shape.height);
  narrow_row_.resize(std::size_t{4} * shape.width);
  const int first_column = across_.first.front();
  const int columns = across_.first.back() + across_.count - first_column;
  for (int y = 0; y < shape.height; ++y) {
    blend_rows(pixels, y, first_column, columns);
    blend_columns(first_column);
    const auto store = [&](const auto& span) {
      store_row(narrow_row_, shape, y, augmentation.mirrored, span);
    };
    std::visit(store, out);
  }
}

}  // namespace dlscale::train
