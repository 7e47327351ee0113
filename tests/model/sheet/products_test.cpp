#include "model/roofline/sheet/products.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::model::sheet {
namespace {

const ImageShape small_image{3, 32, 32};

Network with_convolution(const Convolution& convolution) {
  return {"one",
          small_image,
          {{"grow", Convolution{16, 1, 1}, {"input"}},
           {"conv", convolution, {"grow"}},
           {"fc", FullyConnected{10}, {"conv"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

Product only(const Network& network, std::size_t layer, Pass pass, int batch) {
  const std::vector<Product> products = products_of(network, {LayerId(layer), pass}, batch);
  EXPECT_EQ(products.size(), 1U);
  return products.front();
}

TEST(Products, OfAConvolutionAreItsImplicitMatrices) {
  const Network network =
      with_convolution({.out_channels = 32, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1});
  const Product forward = only(network, 2, Pass::forward, 4);
  EXPECT_EQ(forward.kind, ProductKind::convolution);
  EXPECT_EQ(forward.m, 4 * 16 * 16);
  EXPECT_EQ(forward.n, 32);
  EXPECT_EQ(forward.k, 9 * 16);
  const double in = 4.0 * 16 * 32 * 32;
  const double out = 4.0 * 32 * 16 * 16;
  EXPECT_EQ(forward.elements, in + out + 32 * 16 * 9);
  EXPECT_EQ(forward.activations, in + out);
  const Product data = only(network, 2, Pass::backward_data, 4);
  EXPECT_EQ(data.m, 4 * 32 * 32);
  EXPECT_EQ(data.n, 16);
  EXPECT_EQ(data.k, 9.0 * 32 / 4);
  const Product weights = only(network, 2, Pass::backward_filter, 4);
  EXPECT_EQ(weights.m, 32);
  EXPECT_EQ(weights.n, 9 * 16);
  EXPECT_EQ(weights.k, 4 * 16 * 16);
}

TEST(Products, OfGroupsOfFewChannelsAreDirect) {
  const auto kind = [](int groups, int out) {
    const Network network = with_convolution(
        {.out_channels = out, .kernel_h = 3, .kernel_w = 3, .pad = 1, .groups = groups});
    return only(network, 2, Pass::forward, 2).kind;
  };
  EXPECT_EQ(kind(16, 16), ProductKind::direct);      // depthwise
  EXPECT_EQ(kind(4, 16), ProductKind::direct);       // 4 channels a group
  EXPECT_EQ(kind(4, 32), ProductKind::convolution);  // 8 of them out
  EXPECT_EQ(kind(2, 16), ProductKind::convolution);  // 8 channels a group
  EXPECT_EQ(kind(1, 1), ProductKind::convolution);   // one group of 16
}

TEST(Products, OfGroupsAreThatManySmallerOnes) {
  const Network network =
      with_convolution({.out_channels = 32, .kernel_h = 3, .kernel_w = 3, .pad = 1, .groups = 8});
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    const Product product = only(network, 2, pass, 2);
    EXPECT_EQ(product.groups, 8);
    EXPECT_EQ(product.winograd, 0);
  }
  EXPECT_EQ(only(network, 2, Pass::forward, 2).n, 4);
  EXPECT_EQ(only(network, 2, Pass::forward, 2).k, 9 * 2);
}

TEST(Products, SaveMultiplicationsByMinimalFilteringWhereItApplies) {
  const auto saving = [](int kernel, int stride) {
    const Network network = with_convolution({.out_channels = 32,
                                              .kernel_h = kernel,
                                              .kernel_w = kernel,
                                              .stride = stride,
                                              .pad = kernel / 2});
    return only(network, 2, Pass::forward, 2).winograd;
  };
  EXPECT_EQ(saving(3, 1), 2.25);
  EXPECT_EQ(saving(3, 2), 0);
  EXPECT_EQ(saving(1, 1), 0);
}

/// Strided 1 × 1 filters and the padding of others aside, products do the work that is declared.
TEST(Products, OfANetworkDoTheWorkThatItsLayersDeclare) {
  for (const char* name :
       {"alexnet", "googlenet", "gpt2", "llama3_8b", "mixtral_8x7b", "mobilenet_v2",
        "resnet50_v1.5", "t5_base", "unet", "vgg16", "vit_base"}) {
    const Network network = load_network(name);
    std::vector<Step> steps = forward_steps(network);
    const std::vector<Step> backward = backward_steps(network);
    steps.insert(steps.end(), backward.begin(), backward.end());
    for (const Step step : steps) {
      double flops = 0;
      for (const Product& product : products_of(network, step, 8)) flops += product.flops();
      if (flops == 0) continue;
      const double declared = work(network, step, 8, DType::f32).flops.si();
      EXPECT_NEAR(flops, declared, 1e-9 * declared) << name << " " << step.layer.index();
    }
  }
}

TEST(Products, AreNoneOfStepsThatOnlyMove) {
  const Network network = load_network("resnet50");
  for (const Step step : backward_steps(network)) {
    if (step.pass == Pass::accumulate) {
      EXPECT_TRUE(products_of(network, step, 1).empty());
    }
  }
}

}  // namespace
}  // namespace dlscale::model::sheet
