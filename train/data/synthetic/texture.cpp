#include "train/data/synthetic/texture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace dlscale::train {
namespace {

using Colour = std::array<double, 3>;

constexpr double turn = 2 * std::numbers::pi;

/// The look that all pictures of a class share. Multiples of the powers of 1/1.2207… spread over
/// [0, 1) evenly in three dimensions, for any number of classes   [Roberts 2018, "R3 sequence"]
struct ClassLook {
  double hue;          ///< turns
  double orientation;  ///< radians
  double frequency;    ///< stripes per picture width
  explicit ClassLook(std::int64_t label) {
    const auto fraction = [label](double step) {
      const double value = (static_cast<double>(label) + 0.5) * step;
      return value - std::floor(value);
    };
    hue = fraction(0.8191725133961645);
    orientation = std::numbers::pi * fraction(0.6710436067037893);
    frequency = 6.0 * std::exp2(2.0 * fraction(0.5497004779019703));
  }
};

Colour colour_of(double hue, double brightness) {
  Colour colour{};
  for (int c = 0; c < 3; ++c) {
    colour[c] = brightness * (0.65 + 0.35 * std::cos(turn * (hue - c / 3.0)));
  }
  return colour;
}

/// sin(phase + across · x + down · y) along a row, by rotation instead of one sine per pixel.
class Wave {
 public:
  Wave(double across, double down, double phase)
      : down_(down), phase_(phase), cos_(std::cos(across)), sin_(std::sin(across)) {}
  void start_row(int y) {
    const double angle = phase_ + down_ * y;
    here_ = {std::cos(angle), std::sin(angle)};
  }
  double next() {
    const auto [c, s] = here_;
    here_ = {c * cos_ - s * sin_, s * cos_ + c * sin_};
    return s;
  }

 private:
  double down_, phase_, cos_, sin_;
  std::array<double, 2> here_{};
};

Wave stripes(double frequency, double orientation, double width, RandomStream& random) {
  const double step = turn * frequency / width;
  return {step * std::cos(orientation), step * std::sin(orientation), random.uniform(0, turn)};
}

/// An approximately normal number with deviation 1: the sum of four uniform numbers.
double noise_value(RandomStream& random) {
  const std::uint64_t bits = random.next();
  const auto part = [bits](int i) { return static_cast<double>((bits >> (16 * i)) & 0xffffU); };
  constexpr double deviation = 65536.0 / 1.7320508075688772;  // deviation of the sum: sqrt(4 / 12)
  return (part(0) + part(1) + part(2) + part(3) - 2 * 65535.0) / deviation;
}

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::floor(std::clamp(value, 0.0, 255.0) + 0.5));
}

}  // namespace

PictureSize texture_size(const DataSetSpec& spec, std::int64_t index) {
  RandomStream random(mix(spec.seed, 2 * static_cast<std::uint64_t>(index)));
  const double scale = random.uniform(0.7, 1.3);
  const double stretch = std::exp(random.uniform(-0.14, 0.14));
  const auto side = [](double pixels) {
    return std::max(1, static_cast<int>(std::lround(pixels)));
  };
  return {side(spec.width * scale * stretch), side(spec.height * scale / stretch)};
}

Pixels draw_texture(const DataSetSpec& spec, std::int64_t index, double noise) {
  const PictureSize size = texture_size(spec, index);
  const ClassLook look(index % spec.classes);
  RandomStream random(mix(spec.seed, 2 * static_cast<std::uint64_t>(index) + 1));
  const double brightness = random.uniform(120, 200);
  const Colour light = colour_of(look.hue + random.uniform(-0.03, 0.03), brightness);
  const Colour dark = colour_of(look.hue + random.uniform(0.07, 0.13), 0.5 * brightness);
  Wave wave = stripes(look.frequency * random.uniform(0.9, 1.1),
                      look.orientation + random.uniform(-0.1, 0.1), spec.width, random);
  Wave shade = stripes(random.uniform(0.3, 1.5), random.uniform(0, turn), spec.width, random);

  Pixels pixels{size.width, size.height, {}};
  pixels.rgbx.resize(pixels.row_bytes() * size.height);
  for (int y = 0; y < size.height; ++y) {
    wave.start_row(y);
    shade.start_row(y);
    std::uint8_t* pixel = pixels.row(y);
    for (int x = 0; x < size.width; ++x, pixel += 4) {
      const double mix = 0.5 + 0.5 * wave.next();
      const double shift = 25 * shade.next() + noise * noise_value(random);
      for (int c = 0; c < 3; ++c) pixel[c] = to_byte(dark[c] + mix * (light[c] - dark[c]) + shift);
    }
  }
  return pixels;
}

}  // namespace dlscale::train
