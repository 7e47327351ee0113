#include "model/published/scaling/facts/convolutional.hpp"

#include <cstddef>

namespace dlscale::model::scaling {
namespace {

constexpr double classes = 1000;

/// A square convolution.
struct Filter {
  double in = 1;
  double out = 1;
  double size = 1;   ///< height and width of the filter
  double image = 1;  ///< height and width of the output
  double groups = 1;
};

/// A convolution whose output is written three times: by itself, by batch normalisation with two
/// parameters a channel, and by the activation.
LayerWork normalised(const Filter& filter) {
  const auto& [in, out, size, image, groups] = filter;
  const double weights = in * out * size * size / groups;
  return {weights * image * image, 3 * out * image * image, {weights, out, out}};
}

LayerWork classifier(double features) {
  return {features * classes, classes, {features * classes, classes}};
}

/// Two small layers on averages of channels, and the product with all channels.
LayerWork squeeze_and_excite(double channels, double image) {
  constexpr double reduction = 16;
  const double weights = channels * channels / reduction;
  return {
      2 * weights, channels * image * image, {weights, channels / reduction, weights, channels}};
}

/// Channels of the first stage inside a block, and at its end.
constexpr double first_width = 64;
constexpr double first_output = 256;
constexpr double channels_of_group = 4;
constexpr double first_image = 56;

LayerWork first_convolution(double channels) {
  return normalised({.in = 3, .out = channels, .size = 7, .image = 112, .groups = 1});
}

/// Height and width of the stage after one of `image`.
double stage_image(double image, std::size_t stage) {
  return stage == 0 ? image : image / 2;
}

LayerWork plain_3x3(double in, double out, double image) {
  return normalised({.in = in, .out = out, .size = 3, .image = image, .groups = 1});
}

LayerWork plain_1x1(double in, double out, double image) {
  return normalised({.in = in, .out = out, .size = 1, .image = image, .groups = 1});
}

}  // namespace

std::vector<LayerWork> resnet(const Bottlenecks& shape) {
  std::vector<LayerWork> layers{first_convolution(first_width)};
  double channels = first_width;
  double image = first_image;
  double width = shape.groups > 1 ? channels_of_group * shape.groups : first_width;
  double output = first_output;
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage) {
    const double before = image;
    image = stage_image(image, stage);
    for (int block = 0; block < shape.blocks[stage]; ++block) {
      layers.push_back(plain_1x1(channels, width, block == 0 ? before : image));
      layers.push_back(normalised({.in = width,
                                   .out = width,
                                   .size = 3,
                                   .image = image,
                                   .groups = static_cast<double>(shape.groups)}));
      layers.push_back(plain_1x1(width, output, image));
      if (shape.squeeze_and_excite) layers.push_back(squeeze_and_excite(output, image));
      if (block == 0) layers.push_back(plain_1x1(channels, output, image));
      channels = output;
    }
    width *= 2;
    output *= 2;
  }
  layers.push_back(classifier(channels));
  return layers;
}

std::vector<LayerWork> plain_resnet(const std::vector<int>& blocks) {
  std::vector<LayerWork> layers{first_convolution(first_width)};
  double channels = first_width;
  double image = first_image;
  double output = first_width;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    image = stage_image(image, stage);
    for (int block = 0; block < blocks[stage]; ++block) {
      layers.push_back(plain_3x3(channels, output, image));
      layers.push_back(plain_3x3(output, output, image));
      if (block == 0 && stage > 0) layers.push_back(plain_1x1(channels, output, image));
      channels = output;
    }
    output *= 2;
  }
  layers.push_back(classifier(channels));
  return layers;
}

std::vector<LayerWork> densenet(const DenseBlocks& shape) {
  std::vector<LayerWork> layers{first_convolution(shape.first)};
  const double growth = shape.growth;
  const double narrow = 4 * growth;
  double channels = shape.first;
  double pixels = first_image * first_image;
  // DenseNet normalises before each convolution, over all channels so far.
  const auto normalise = [&](double width) {
    layers.push_back({0, 2 * width * pixels, {width, width}});
  };
  for (std::size_t block = 0; block < shape.layers.size(); ++block) {
    for (int layer = 0; layer < shape.layers[block]; ++layer) {
      normalise(channels);
      layers.push_back({channels * narrow * pixels, narrow * pixels, {channels * narrow}});
      normalise(narrow);
      layers.push_back({narrow * growth * 9 * pixels, growth * pixels, {narrow * growth * 9}});
      channels += growth;
    }
    if (block + 1 == shape.layers.size()) break;
    const double weights = channels * channels / 2;
    layers.push_back({weights * pixels, 2 * channels * pixels, {channels, channels, weights}});
    channels /= 2;
    pixels /= 4;
  }
  layers.push_back(
      {channels * classes, classes, {channels, channels, channels * classes, classes}});
  return layers;
}

}  // namespace dlscale::model::scaling
