#include "model/roofline/sheet/memory_passes.hpp"

#include <gtest/gtest.h>

#include "core/network/network.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"

namespace dlscale::model::sheet {
namespace {

/// A residual block; all feature maps have 8 · 4 · 4 elements.
Network block() {
  const Convolution convolution{
      .out_channels = 8, .kernel_h = 3, .kernel_w = 3, .pad = 1, .bias = false};
  return {"block",
          {8, 4, 4},
          {{"conv", convolution, {"input"}},
           {"norm", BatchNorm{}, {"conv"}},
           {"relu", Relu{}, {"norm"}},
           {"conv2", convolution, {"relu"}},
           {"norm2", BatchNorm{}, {"conv2"}},
           {"sum", Sum{}, {"norm2", "relu"}},
           {"relu2", Relu{}, {"sum"}},
           {"fc", FullyConnected{10}, {"relu2"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

constexpr int batch = 2;
constexpr double n = batch * 8 * 4 * 4;

MemoryPasses all(const Network& network, Elementwise fusion, bool forward) {
  MemoryPasses sum;
  for (const Step step : forward ? forward_steps(network) : backward_steps(network)) {
    sum += passes_of(network, step, batch, fusion);
  }
  return sum;
}

constexpr double scores = batch * 10;  // of the fully connected layer and the loss

TEST(MemoryPasses, AreThoseOfSeparateKernels) {
  const Network network = block();
  // Norms 3 n, ReLUs 2 n, the sum 3 n; bias and loss of 10 scores.
  EXPECT_EQ(all(network, Elementwise::separate, true), (MemoryPasses{13 * n + 5 * scores, 9}));
  EXPECT_EQ(all(network, Elementwise::separate, false), (MemoryPasses{19 * n + 3 * scores, 7}));
}

TEST(MemoryPasses, AreFewerWhereNormsApplyWhatFollows) {
  const Network network = block();
  EXPECT_EQ(all(network, Elementwise::norm_act, true), (MemoryPasses{7 * n + 5 * scores, 6}));
  EXPECT_EQ(all(network, Elementwise::norm_act, false), (MemoryPasses{14 * n + 3 * scores, 5}));
  const MemoryPasses pointwise = all(network, Elementwise::pointwise, true);
  EXPECT_EQ(pointwise, (MemoryPasses{11 * n + 5 * scores, 8}));
}

TEST(MemoryPasses, CountTheReluThatTheNetworkHasFusedAsFused) {
  const Network fused = fuse_relu(block());
  EXPECT_EQ(all(fused, Elementwise::separate, true), (MemoryPasses{9 * n + 5 * scores, 7}));
  EXPECT_EQ(all(fused, Elementwise::separate, false), (MemoryPasses{15 * n + 3 * scores, 5}));
}

/// Backward of sums counts with another layer, which the number of kernels would show.
TEST(MemoryPasses, CountEveryBackwardPassOnce) {
  for (const char* name : {"googlenet", "resnet50", "vgg16"}) {
    const Network network = load_network(name);
    double kernels = 0;
    for (const Layer& layer : network.layers()) {
      const bool no_kernel =
          std::holds_alternative<Input>(layer.kind) ||
          (std::holds_alternative<Convolution>(layer.kind) && layer.bias_count() == 0);
      kernels += no_kernel ? 0 : 1;
    }
    EXPECT_EQ(all(network, Elementwise::separate, false).kernels, kernels) << name;
  }
}

TEST(MemoryPasses, OfSequencesAreHalvedWhereACompilerFuses) {
  const Network network = load_network("gpt2");
  for (const bool forward : {false, true}) {
    const MemoryPasses separate = all(network, Elementwise::separate, forward);
    const MemoryPasses fused = all(network, Elementwise::all, forward);
    EXPECT_DOUBLE_EQ(fused.elements, separate.elements / 2);
    EXPECT_DOUBLE_EQ(fused.kernels, separate.kernels / 2);
  }
}

}  // namespace
}  // namespace dlscale::model::sheet
