#include "model/published/scaling/facts/network_kind.hpp"

#include <cctype>
#include <cstddef>
#include <string>

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

/// A network of configs/networks.
NetworkKind in_file(std::string_view name, std::string_view file) {
  NetworkKind kind;
  kind.name = name;
  kind.file = file;
  return kind;
}

NetworkKind built(std::string_view name, std::vector<LayerWork> (*build)()) {
  NetworkKind kind;
  kind.name = name;
  kind.build = build;
  return kind;
}

/// SSD for images of 300 × 300: the first three stages of a ResNet as its backbone
/// [MLPerf training, single-stage detector].
NetworkKind detector(std::string_view name, std::vector<LayerWork> (*backbone)()) {
  NetworkKind kind = built(name, backbone);
  kind.part = true;
  return kind;
}

/// A kind for which only the number of tensors is known.
NetworkKind ramp_kind(std::string_view name, int tensors) {
  NetworkKind kind;
  kind.name = name;
  kind.tensors = tensors;
  return kind;
}

/// Marks networks for speech, translation, or detection in images of different sizes.
NetworkKind uneven(NetworkKind kind) {
  kind.uneven_samples = true;
  return kind;
}

NetworkKind translation(std::string_view name) {
  NetworkKind kind;
  kind.name = name;
  kind.attention = Attention::cross;
  return uneven(kind);
}

/// ResNet-50 with a pyramid of features, and two layers that classify regions: 256 channels of
/// 7 × 7 to 1024 features, and 1024 to 1024 [arXiv:1703.06870].
NetworkKind mask_rcnn(std::string_view name) {
  NetworkKind kind = in_file(name, "resnet50_v1.5");
  kind.part = true;
  kind.behind = {{12544.0 * 1024, 0.03}, {1024.0 * 1024, 0.04}};
  return uneven(kind);
}

std::vector<NetworkKind> residual() {
  return {
      built("resnet18",
            [] {
              return plain_resnet({2, 2, 2, 2});
            }),
      built("resnet34",
            [] {
              return plain_resnet({3, 4, 6, 3});
            }),
      in_file("resnet50", "resnet50_v1.5"),
      built("resnet101",
            [] {
              return resnet({.blocks = {3, 4, 23, 3}});
            }),
      built("resnet152",
            [] {
              return resnet({.blocks = {3, 8, 36, 3}});
            }),
      built("resnext50",
            [] {
              return resnet({.blocks = {3, 4, 6, 3}, .groups = 32});
            }),
      built("resnext101",
            [] {
              return resnet({.blocks = {3, 4, 23, 3}, .groups = 32});
            }),
      built("seresnext50",
            [] {
              return resnet({.blocks = {3, 4, 6, 3}, .groups = 32, .squeeze_and_excite = true});
            }),
      built("seresnext101",
            [] {
              return resnet({.blocks = {3, 4, 23, 3}, .groups = 32, .squeeze_and_excite = true});
            }),
  };
}

std::vector<NetworkKind> dense() {
  return {
      built("densenet121",
            [] {
              return densenet({.layers = {6, 12, 24, 16}});
            }),
      built("densenet169",
            [] {
              return densenet({.layers = {6, 12, 32, 32}});
            }),
      built("densenet201",
            [] {
              return densenet({.layers = {6, 12, 48, 32}});
            }),
      built("densenet161",
            [] {
              return densenet({.layers = {6, 12, 36, 24}, .growth = 48, .first = 96});
            }),
  };
}

std::vector<NetworkKind> detectors() {
  std::vector<NetworkKind> kinds;
  for (const std::string_view name : {"ssd300resnet34", "ssdresnet34"}) {
    kinds.push_back(detector(name, [] { return plain_resnet({3, 4, 6}); }));
  }
  for (const std::string_view name : {"ssd300resnet50", "ssdresnet50"}) {
    kinds.push_back(detector(name, [] { return resnet({.blocks = {3, 4, 6}}); }));
  }
  kinds.push_back(mask_rcnn("maskrcnn"));
  kinds.push_back(uneven(ramp_kind("fasterrcnn", 160)));
  kinds.push_back(uneven(ramp_kind("efficientdet", 450)));
  return kinds;
}

std::vector<NetworkKind> other() {
  return {
      in_file("alexnet", "alexnet_owt"),   in_file("vgg11", "vgg11"),
      in_file("vgg16", "vgg16"),           in_file("vgg19", "vgg19"),
      in_file("overfeat", "overfeat"),     in_file("googlenet", "googlenet"),
      in_file("inceptionv1", "googlenet"), ramp_kind("inceptionv3", 290),
      ramp_kind("inception3", 290),        ramp_kind("inceptionv4", 449),
      ramp_kind("inception4", 449),        uneven(ramp_kind("jasper", 170)),
      uneven(ramp_kind("quartznet", 300)), uneven(ramp_kind("deepspeech", 160)),
      uneven(ramp_kind("rnnt", 160)),      uneven(ramp_kind("gnmt", 160)),
      translation("transformer"),          ramp_kind("transformerxl", 160),
      ramp_kind("transformerlm", 160),
  };
}

std::vector<NetworkKind> all_kinds() {
  std::vector<NetworkKind> all;
  for (const auto& kinds : {residual(), dense(), detectors(), other()}) {
    all.insert(all.end(), kinds.begin(), kinds.end());
  }
  return all;
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

std::string plain_name(std::string_view name) {
  std::string word;
  for (const char letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (std::isalnum(code) != 0) word.push_back(static_cast<char>(std::tolower(code)));
  }
  return word;
}

const NetworkKind& network_kind(std::string_view name) {
  static const std::vector<NetworkKind> kinds = all_kinds();
  static const NetworkKind unknown{};
  const std::string word = plain_name(name);
  const NetworkKind* found = &unknown;
  for (const NetworkKind& kind : kinds) {
    if (word.starts_with(kind.name) && kind.name.size() > found->name.size()) found = &kind;
  }
  return *found;
}

}  // namespace dlscale::model::scaling
