#include "train/data/synthetic/compression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/error.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/parallel.hpp"
#include "train/data/synthetic/texture.hpp"

namespace dlscale::train {
namespace {

constexpr double moderate_noise = 12;
constexpr double greatest_noise = 80;

double pixel_count(PictureSize size) {
  return double{1} * size.width * size.height;
}

/// Estimate of a set's mean file size: the bytes per pixel of its first pictures times the mean
/// number of pixels, which is known without drawing.
class SizeEstimate {
 public:
  explicit SizeEstimate(const DataSetSpec& spec)
      : spec_(spec), samples_(std::min(spec.pictures, 12)) {
    double all = 0;
    for (int i = 0; i < spec.pictures; ++i) all += pixel_count(texture_size(spec, i));
    mean_pixels_ = all / spec.pictures;
    for (int i = 0; i < samples_; ++i) sampled_pixels_ += pixel_count(texture_size(spec, i));
  }

  [[nodiscard]] double operator()(Compression compression) const {
    std::vector<double> bytes(samples_);
    for_each_index(samples_, [&](std::int64_t i) {
      const Pixels pixels = draw_texture(spec_, i, compression.noise);
      bytes[i] = static_cast<double>(encode_jpeg(pixels, compression.quality).size());
    });
    const double sum = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    return sum / sampled_pixels_ * mean_pixels_;
  }

 private:
  DataSetSpec spec_;
  int samples_;
  double mean_pixels_ = 0;
  double sampled_pixels_ = 0;
};

int closest_quality(const SizeEstimate& size, double target) {
  int below = 1;
  int above = 100;
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    (size({middle, moderate_noise}) < target ? below : above) = middle;
  }
  const auto miss = [&](int quality) {
    return std::abs(std::log(size({quality, moderate_noise}) / target));
  };
  return miss(below) < miss(above) ? below : above;
}

[[noreturn]] void refuse(const DataSetSpec& spec, double reached) {
  throw ConfigError(fmt::format(
      "Pictures of {} x {} pixels cannot be JPEG files of {:.0f} bytes: the closest are of {:.0f} "
      "bytes. Ask for another size of pictures or files.",
      spec.width, spec.height, spec.target_bytes, reached));
}

}  // namespace

Compression choose_compression(const DataSetSpec& spec) {
  constexpr double tolerance = 0.01;
  const SizeEstimate size(spec);
  Compression compression{closest_quality(size, spec.target_bytes), moderate_noise};
  double low = 0;
  double high = greatest_noise;
  double ratio = size(compression) / spec.target_bytes;
  for (int step = 0; step < 16 && std::abs(ratio - 1) > tolerance; ++step) {
    (ratio < 1 ? low : high) = compression.noise;
    compression.noise = 0.5 * (low + high);
    ratio = size(compression) / spec.target_bytes;
  }
  if (std::abs(ratio - 1) > 5 * tolerance) refuse(spec, ratio * spec.target_bytes);
  return compression;
}

}  // namespace dlscale::train
