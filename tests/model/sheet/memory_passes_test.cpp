#include "model/roofline/sheet/memory_passes.hpp"

#include <gtest/gtest.h>

#include <vector>

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

MemoryPasses all(const Network& network, const ComputeTraits& way, bool forward) {
  const MemoryPassCounter counter(network, batch);
  MemoryPasses sum;
  for (const Step step : forward ? forward_steps(network) : backward_steps(network)) {
    sum += counter.count(step, way);
  }
  return sum;
}

MemoryPasses all(const Network& network, Elementwise fusion, bool forward) {
  ComputeTraits way;
  way.elementwise = fusion;
  return all(network, way, forward);
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

TEST(MemoryPasses, OfFrozenNormsAreThoseOfInferenceAndOfAGradientInTerms) {
  const Network network = block();
  ComputeTraits frozen;
  frozen.frozen_norm = true;
  // Two norms: forward 2 n in place of 3 n and a kernel less, backward 16 n for 5 n and 9 more.
  EXPECT_EQ(all(network, frozen, true), (MemoryPasses{11 * n + 5 * scores, 7}));
  EXPECT_EQ(all(network, frozen, false), (MemoryPasses{41 * n + 3 * scores, 25}));
}

/// Sums of sums have no layer below them with a backward step of its own but the first norm.
TEST(MemoryPasses, CountASumOfSumsWithTheFirstLayerBelow) {
  const Convolution convolution{
      .out_channels = 8, .kernel_h = 3, .kernel_w = 3, .pad = 1, .bias = false};
  const auto sums = [&](bool third) {
    std::vector<Network::Node> nodes{{"a", convolution, {"input"}},
                                     {"b", convolution, {"input"}},
                                     {"s1", Sum{}, {"a", "b"}},
                                     {"s2", Sum{}, {"b", "a"}}};
    if (third) nodes.push_back({"s3", Sum{}, {"s1", "s2"}});
    nodes.push_back({"fc1", FullyConnected{10}, {third ? "s3" : "s1"}});
    nodes.push_back({"loss1", SoftmaxCrossEntropy{}, {"fc1"}});
    nodes.push_back({"fc2", FullyConnected{10}, {"s2"}});
    nodes.push_back({"loss2", SoftmaxCrossEntropy{}, {"fc2"}});
    return Network("sums", {8, 4, 4}, nodes);
  };
  const MemoryPasses two = all(sums(false), Elementwise::separate, false);
  const MemoryPasses three = all(sums(true), Elementwise::separate, false);
  EXPECT_EQ(three, (MemoryPasses{two.elements + 3 * n, two.kernels + 1}));
}

constexpr double tokens = 16;
constexpr double width = 8;
constexpr double heads = 2;

/// A layer of a transformer over 16 tokens of 8 features, and the decoding of 40 words.
std::vector<Network::Node> layer_nodes(bool causal) {
  return {{"words", Embedding{.rows = 40, .outputs = 8}, {"input"}},
          {"places", PositionEmbedding{.rows = 64, .outputs = 8}, {"input"}},
          {"table", Sum{}, {"words", "places"}},
          {"table_norm", LayerNorm{}, {"table"}},
          {"q", Linear{.outputs = 8}, {"table_norm"}},
          {"k", Linear{.outputs = 8}, {"table_norm"}},
          {"v", Linear{.outputs = 8}, {"table_norm"}},
          {"scores", AttentionScores{2, 2, causal}, {"q", "k"}},
          {"softmax", AttentionSoftmax{}, {"scores"}},
          {"context", AttentionContext{2}, {"softmax", "v"}},
          {"o", Linear{.outputs = 8}, {"context"}},
          {"sum", Sum{}, {"o", "table_norm"}},
          {"norm", LayerNorm{}, {"sum"}},
          {"fc1", Linear{.outputs = 32}, {"norm"}},
          {"gelu", Activation{ActivationFunction::gelu}, {"fc1"}},
          {"fc2", Linear{.outputs = 8}, {"gelu"}},
          {"sum2", Sum{}, {"fc2", "norm"}},
          {"norm2", LayerNorm{}, {"sum2"}},
          {"decoder", Linear{.outputs = 40}, {"norm2"}},
          {"loss", TokenCrossEntropy{}, {"decoder"}}};
}

/// Passes of a layer as published for all of it: over t h, t f and scores.
struct LayerColumns {
  Elementwise fusion;
  double h, f, s, kernels;  // forward
  double h_back, f_back, s_back, kernels_back;
};

TEST(MemoryPasses, OfATransformersLayerAreThoseOfItsOperators) {
  const Network network("layer", {1, 16, 1}, layer_nodes(true));
  const double th = batch * tokens * width;
  const double tf = 4 * th;
  const double s = batch * heads * tokens * tokens;
  const double decoded = batch * tokens * 40;
  for (const LayerColumns& c :
       {LayerColumns{Elementwise::primitive, 26, 12, 11, 55, 40, 20, 13, 100},
        LayerColumns{Elementwise::kernels, 18, 4, 8, 22, 24, 5, 9, 36},
        LayerColumns{Elementwise::all, 9, 2, 4, 10, 14, 3, 5, 18},
        LayerColumns{Elementwise::epilogue, 6, 1, 4, 8, 10, 2, 5, 14}}) {
    // The table with its norm takes 8 and 8 passes, and the loss 4 and 3 over words.
    EXPECT_EQ(all(network, c.fusion, true),
              (MemoryPasses{(c.h + 8) * th + c.f * tf + c.s * s + 4 * decoded, c.kernels + 6 + 3}))
        << elementwise_name(c.fusion);
    EXPECT_EQ(all(network, c.fusion, false),
              (MemoryPasses{(c.h_back + 8) * th + c.f_back * tf + c.s_back * s + 3 * decoded,
                            c.kernels_back + 8 + 2}))
        << elementwise_name(c.fusion);
  }
}

TEST(MemoryPasses, LeaveScoresOutWhereAttentionIsFused) {
  const Network network("layer", {1, 16, 1}, layer_nodes(true));
  ComputeTraits unfused = usual_traits(NetworkFamily::transformer);
  ComputeTraits fused = unfused;
  fused.fused_attention = true;
  const double s = batch * heads * tokens * tokens;
  const MemoryPasses with = all(network, unfused, true);
  EXPECT_EQ(all(network, fused, true), (MemoryPasses{with.elements - 8 * s, with.kernels - 2}));
}

TEST(MemoryPasses, AreThoseOfFewWordsWhereOnlyMaskedOnesAreDecoded) {
  const Network network("layer", {1, 64, 1}, layer_nodes(false));
  const MemoryPassCounter counter(network, batch);
  const LayerId decoder = network.layers()[network.layers().size() - 2].id;
  ComputeTraits way = usual_traits(NetworkFamily::transformer);
  EXPECT_DOUBLE_EQ(counter.computed_rows(decoder, way), 20.0 / 64);
  way.tokens = 0.25;  // of 256, of which 15.6 % are masked
  EXPECT_DOUBLE_EQ(counter.computed_rows(decoder, way), 0.156 * 4);
  way.head = DecodedTokens::all;
  EXPECT_EQ(counter.computed_rows(decoder, way), 1);
  way.head = DecodedTokens::none;
  EXPECT_EQ(counter.computed_rows(decoder, way), 0);
  EXPECT_EQ(counter.computed_rows(network.layers()[4].id, way), 1) << "a query";
  const Network causal("layer", {1, 64, 1}, layer_nodes(true));
  EXPECT_EQ(MemoryPassCounter(causal, batch).computed_rows(decoder, way), 1);
}

}  // namespace
}  // namespace dlscale::model::sheet
