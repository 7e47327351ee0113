#include "model/published/scaling/facts/tensors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/published/scaling/facts/network_kind.hpp"
#include "tests/model/scaling/example_case.hpp"

namespace dlscale::model::scaling {
namespace {

/// Share of the elements that is ready when `ready` of the backward pass has run.
double share_ready(const TensorProfile& profile, double ready) {
  double sum = 0;
  double all = 0;
  for (const GradientTensor& tensor : profile.tensors) {
    all += tensor.elements;
    if (tensor.ready <= ready) sum += tensor.elements;
  }
  return sum / all;
}

struct Expected {
  const char* name;
  std::int64_t parameters;
  std::size_t tensors;
  std::array<double, 3> ready;  ///< by a quarter, half and three quarters of the backward pass
  TensorSource source = TensorSource::layers;
};

/// Figures of another program with the same assumptions.
TEST(GradientTensors, AreReadyAsAnotherProgramHasIt) {
  const std::vector<Expected> all{
      {"ResNet-50", 25557032, 161, {0.71979, 0.92295, 0.98473}},
      {"GoogLeNet", 13379136, 128, {0.60693, 0.95700, 0.99070}},
      {"ResNet-152", 60192808, 467, {0.46389, 0.71393, 0.95738}},
      {"DenseNet-161", 28681000, 484, {0.66972, 0.92118, 0.97848}},
      {"DenseNet-201", 20013928, 604, {0.63922, 0.91076, 0.98278}},
      {"SSD300-ResNet-50", 22900000, 131, {0.57416, 0.87826, 0.97645}},
      {"SSD300-ResNet-34", 20000000, 89, {0.45080, 0.85758, 0.97253}},
      {"ResNeXt-101-32x4d", 44177704, 314, {0.51671, 0.74618, 0.96803}},
      {"SE-ResNeXt-101-32x4d", 48955416, 446, {0.51474, 0.74612, 0.96859}},
      {"Mask-R-CNN-ResNet-50-FPN", 44400000, 163, {0.73028, 0.92509, 0.98636}},
      {"AlexNet", 61100840, 16, {0.96924, 0.98372, 0.99459}},
      {"VGG-16", 138357544, 32, {0.96187, 0.98746, 0.99812}},
      {"Inception-v3", 23834568, 290, {0.43427, 0.74914, 0.93599}, TensorSource::ramp},
      {"Inception-v4", 42679816, 449, {0.43625, 0.74833, 0.93624}, TensorSource::ramp},
      {"Jasper-10x5", 333000000, 170, {0.43199, 0.74854, 0.93492}, TensorSource::ramp},
      {"EfficientDet-D0", 3900000, 450, {0.43542, 0.74945, 0.93653}, TensorSource::ramp}};
  for (const Expected& expected : all) {
    cases::CaseNetwork network;
    network.name = expected.name;
    network.parameters = expected.parameters;
    const TensorProfile profile = gradient_tensors(network, test::sources().networks);
    EXPECT_EQ(profile.source, expected.source) << expected.name;
    EXPECT_EQ(profile.tensors.size(), expected.tensors) << expected.name;
    // A tensor that is ready at the very edge of a quarter may fall on either side of it.
    EXPECT_NEAR(share_ready(profile, 0.25), expected.ready[0], 5e-3) << expected.name;
    EXPECT_NEAR(share_ready(profile, 0.5), expected.ready[1], 5e-3) << expected.name;
    EXPECT_NEAR(share_ready(profile, 0.75), expected.ready[2], 5e-3) << expected.name;
  }
}

TEST(GradientTensors, OfTransformersAreLayersAndEmbeddings) {
  const TensorProfile base = gradient_tensors(test::bert_base(), {});
  EXPECT_EQ(base.source, TensorSource::transformer);
  EXPECT_EQ(base.tensors.size(), 139U);
  EXPECT_NEAR(share_ready(base, 0.25), 0.16091, 1e-5);
  EXPECT_NEAR(share_ready(base, 0.5), 0.38086, 1e-5);
  EXPECT_NEAR(share_ready(base, 0.75), 0.59007, 1e-5);
  // The embedding of words is last.
  EXPECT_EQ(base.tensors.back().ready, 1);
  EXPECT_NEAR(base.tensors.back().elements, 30522.0 * 768, 0.01 * 30522 * 768);

  cases::CaseNetwork translation = test::bert_base();
  translation.name = "Transformer-Big";
  translation.parameters = 210808832;
  translation.hidden = 1024;
  translation.ffn = 4096;
  EXPECT_NEAR(share_ready(gradient_tensors(translation, {}), 0.5), 0.41079, 1e-5);
}

/// Whatever a network is called and however many parameters it has.
TEST(GradientTensors, AddUpToTheParametersInBackwardOrder) {
  std::vector<cases::CaseNetwork> networks{test::bert_base()};
  networks.back().parameters = 1000;  // fewer than its layers have
  for (const char* name :
       {"ResNet-18", "resnet34", "ResNet-101", "ResNet50_v1.5", "ResNet-200", "DenseNet-121",
        "DenseNet-169", "VGG-19", "SE-ResNeXt-50", "MobileNet", "GNMT", "?", ""}) {
    for (const std::int64_t parameters : {1, 11689512, 44549160, 143667240}) {
      cases::CaseNetwork network;
      network.name = name;
      network.parameters = parameters;
      networks.push_back(network);
    }
  }
  for (const cases::CaseNetwork& network : networks) {
    const TensorProfile profile = gradient_tensors(network, test::sources().networks);
    double sum = 0;
    double last = 0;
    for (const GradientTensor& tensor : profile.tensors) {
      EXPECT_GT(tensor.elements, 0) << network.name;
      EXPECT_GE(tensor.ready, last) << network.name;
      last = tensor.ready;
      sum += tensor.elements;
    }
    EXPECT_NEAR(last, 1, 1e-9) << network.name;
    EXPECT_NEAR(sum / static_cast<double>(network.parameters), 1, 1e-9) << network.name;
  }
}

double parameters_of(const std::vector<LayerWork>& layers) {
  double sum = 0;
  for (const LayerWork& layer : layers) {
    for (const double elements : layer.tensors) sum += elements;
  }
  return sum;
}

double macs_of(const std::vector<LayerWork>& layers) {
  double sum = 0;
  for (const LayerWork& layer : layers) sum += layer.macs;
  return sum;
}

/// Against the networks of torchvision, which have these numbers of parameters, and against the
/// layers of a file.
TEST(GeneratedLayers, HaveAsManyParametersAsPublished) {
  EXPECT_EQ(parameters_of(plain_resnet({2, 2, 2, 2})), 11689512);
  EXPECT_EQ(parameters_of(plain_resnet({3, 4, 6, 3})), 21797672);
  EXPECT_EQ(parameters_of(resnet({.blocks = {3, 4, 6, 3}})), 25557032);
  EXPECT_EQ(parameters_of(resnet({.blocks = {3, 4, 23, 3}})), 44549160);
  EXPECT_EQ(parameters_of(resnet({.blocks = {3, 8, 36, 3}})), 60192808);
  EXPECT_EQ(parameters_of(resnet({.blocks = {3, 4, 6, 3}, .groups = 32})), 25028904);
  EXPECT_EQ(parameters_of(densenet({.layers = {6, 12, 24, 16}})), 7978856);
  EXPECT_EQ(parameters_of(densenet({.layers = {6, 12, 36, 24}, .growth = 48, .first = 96})),
            28681000);
  EXPECT_EQ(parameters_of(densenet({.layers = {6, 12, 48, 32}})), 20013928);
  const std::vector<LayerWork> file = layer_work(load_network("resnet50_v1.5"));
  EXPECT_EQ(parameters_of(file), 25557032);
  // The file's images are as large, so its work is as much, but for the strided first blocks.
  EXPECT_NEAR(macs_of(resnet({.blocks = {3, 4, 6, 3}})) / macs_of(file), 1, 0.01);
}

TEST(GradientTensors, OfAnotherSizeThanTheLayersOfThatNameAreARamp) {
  cases::CaseNetwork network = test::resnet50();
  network.parameters *= 3;
  EXPECT_EQ(gradient_tensors(network, test::sources().networks).source, TensorSource::ramp);
  EXPECT_EQ(gradient_tensors(test::resnet50(), {}).source, TensorSource::ramp);
}

}  // namespace
}  // namespace dlscale::model::scaling
