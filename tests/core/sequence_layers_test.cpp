#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

/// Two layers of a language model: 4 tokens of 6 features, 3 heads of 2 that share one key, and 2
/// of 5 experts. The decoder has the weights of the embedding.
constexpr std::string_view language_model = R"(network: language
input: {tokens: 4}
layers:
  - {name: word, kind: embedding, rows: 10, outputs: 6}
  - {name: place, kind: position_embedding, rows: 8, outputs: 6, from: input}
  - {name: x, kind: sum, from: [word, place]}
  - {name: norm, kind: layer_norm}
  - {name: q, kind: linear, outputs: 6}
  - {name: k, kind: linear, outputs: 2, bias: false, from: norm}
  - {name: v, kind: linear, outputs: 2, from: norm}
  - {name: turned, kind: rope, from: q}
  - {name: distances, kind: relative_positions, buckets: 7, heads: 3, from: input}
  - {name: scores, kind: attention_scores, heads: 3, kv_heads: 1, causal: true, from: [turned, k]}
  - {name: softmax, kind: attention_softmax, from: [scores, distances]}
  - {name: context, kind: attention_context, kv_heads: 1, from: [softmax, v]}
  - {name: o, kind: linear, outputs: 6}
  - {name: y, kind: sum, from: [o, x]}
  - {name: norm2, kind: rms_norm}
  - {name: router, kind: linear, outputs: 5, bias: false}
  - {name: route, kind: route}
  - {name: gate, kind: expert_linear, outputs: 8, active: 2, from: [norm2, route]}
  - {name: up, kind: expert_linear, outputs: 8, active: 2, from: [norm2, route]}
  - {name: act, kind: silu_multiply, from: [gate, up]}
  - {name: down, kind: expert_linear, outputs: 6, active: 2, from: [act, route]}
  - {name: z, kind: sum, from: [down, y]}
  - {name: decoder, kind: linear, outputs: 10, weights_of: word}
  - {name: loss, kind: token_cross_entropy}
)";

const Network& language() {
  static const Network network = test::load_text(language_model, load_network);
  return network;
}

const Layer& layer(std::string_view name) {
  const auto& layers = language().layers();
  return *std::ranges::find(layers, name, &Layer::name);
}

std::string error_of(std::string_view from, std::string_view to) {
  return test::error_after(language_model, from, to, load_network);
}

TEST(SequenceLayers, HaveShapesOfTokens) {
  EXPECT_TRUE(language().is_over_sequences());
  EXPECT_EQ(language().samples(), "sequences");
  EXPECT_EQ(load_network("jasper_10x5").samples(), "sequences");  // frames of sound
  EXPECT_TRUE(language().has_attention());
  EXPECT_EQ(language().input(), (ImageShape{1, 4, 1}));
  EXPECT_EQ(layer("x").output, (ImageShape{6, 4, 1}));
  EXPECT_EQ(layer("scores").output, (ImageShape{3, 4, 4}));
  EXPECT_EQ(layer("distances").output, (ImageShape{3, 4, 4}));
  EXPECT_EQ(layer("context").output, (ImageShape{6, 4, 1}));
  EXPECT_EQ(layer("gate").output, (ImageShape{8, 8, 1}));  // a row for each token and expert
  EXPECT_EQ(layer("down").output, (ImageShape{6, 4, 1}));
  EXPECT_EQ(language().classes(), 10);
}

TEST(SequenceLayers, CountParametersAndMultiplyAdds) {
  EXPECT_EQ(layer("word").parameter_count(), 60);
  EXPECT_EQ(layer("place").parameter_count(), 48);
  EXPECT_EQ(layer("norm").parameter_count(), 12);
  EXPECT_EQ(layer("norm2").parameter_count(), 6);
  EXPECT_EQ(layer("q").parameter_count(), 42);
  EXPECT_EQ(layer("k").parameter_count(), 12);
  EXPECT_EQ(layer("distances").parameter_count(), 21);
  EXPECT_EQ(layer("gate").parameter_count(), 5 * 6 * 8);
  EXPECT_EQ(layer("decoder").parameter_count(), 10);  // the bias; the weights are those of word
  EXPECT_EQ(layer("decoder").read_weight_count(), 60);
  EXPECT_EQ(layer("q").forward_macs(), 6 * 6 * 4);
  EXPECT_EQ(layer("scores").forward_macs(), 3 * 4 * 4 * 2);  // masked ones too
  EXPECT_EQ(layer("context").forward_macs(), 3 * 4 * 4 * 2);
  EXPECT_EQ(layer("gate").forward_macs(), 2 * 4 * 6 * 8);
  EXPECT_EQ(layer("down").forward_macs(), 2 * 4 * 8 * 6);
  EXPECT_EQ(layer("decoder").forward_macs(), 6 * 10 * 4);
  EXPECT_EQ(layer("word").forward_macs(), 0);
}

std::vector<Pass> passes_of(std::string_view name) {
  std::vector<Pass> passes;
  for (const Step& step : backward_steps(language())) {
    if (step.layer == layer(name).id) passes.push_back(step.pass);
  }
  return passes;
}

TEST(SequenceLayers, HaveTheirPassesBackward) {
  using enum Pass;
  EXPECT_EQ(passes_of("word"), std::vector<Pass>{backward_filter});
  EXPECT_EQ(passes_of("distances"), std::vector<Pass>{backward_filter});
  EXPECT_EQ(passes_of("norm"), (std::vector<Pass>{accumulate, backward_data}));
  EXPECT_EQ(passes_of("q"), (std::vector<Pass>{backward_filter, backward_data}));
  EXPECT_EQ(passes_of("decoder"), (std::vector<Pass>{backward_filter, backward_data}));
  EXPECT_EQ(passes_of("scores"), std::vector<Pass>{backward_data});
  EXPECT_EQ(passes_of("loss"), std::vector<Pass>{backward_data});
}

Work work_at(std::string_view name, Pass pass, int batch = 2) {
  return work(language(), {layer(name).id, pass}, batch, DType::bf16);
}

TEST(SequenceWork, ProductsOfActivationsHaveTwoGradients) {
  const double macs = 2.0 * 3 * 4 * 4 * 2;
  const double operands = 2.0 * (24 + 8);
  const double scores = 2.0 * 48;
  EXPECT_EQ(work_at("scores", Pass::forward).flops.si(), 2 * macs);
  EXPECT_EQ(work_at("scores", Pass::forward).bytes.si(), 2 * (operands + scores));
  EXPECT_EQ(work_at("scores", Pass::backward_data).flops.si(), 4 * macs);
  EXPECT_EQ(work_at("scores", Pass::backward_data).bytes.si(), 2 * (2 * operands + scores));
}

TEST(SequenceWork, TablesAreReadByRowAndTheirGradientWrittenWhole) {
  const double tokens = 2.0 * 4;
  EXPECT_EQ(work_at("word", Pass::forward).bytes.si(), 2 * 2 * 6 * tokens + 4 * tokens);
  EXPECT_EQ(work_at("word", Pass::backward_filter).bytes.si(),
            2 * 6 * tokens + 4 * 60 + 4 * tokens);
  EXPECT_EQ(work_at("place", Pass::forward).bytes.si(), 2 * (6 * 4 + 6 * tokens));
  EXPECT_EQ(work_at("distances", Pass::forward, 2).bytes,
            work_at("distances", Pass::forward, 9).bytes);
}

TEST(SequenceWork, ASmallBatchReachesNoMoreExpertsThanItHasRows) {
  const std::string text = test::replaced(language_model, "outputs: 5, bias", "outputs: 32, bias");
  const Network many = test::load_text(text, load_network);
  const Step gate{layer("gate").id, Pass::forward};
  const double rows = 4 * 2;  // of 32 experts, 8 at most
  const double activations = 6 * 4 + 32 * 4 + 8 * rows;
  EXPECT_EQ(work(many, gate, 1, DType::f32).bytes.si(), 4 * (activations + rows * 6 * 8));
  EXPECT_EQ(work(many, gate, 100, DType::f32).bytes.si(), 4 * (100 * activations + 32 * 6 * 8));
}

TEST(SequenceWork, EveryFieldIsInTheKernelKey) {
  EXPECT_EQ(kernel_key(language(), layer("scores").id),
            "attention_scores c6 h4 w1 keys4 heads3 kv1 causal");
  EXPECT_EQ(kernel_key(language(), layer("context").id), "attention_context c3 h4 w4 outputs6 kv1");
  EXPECT_EQ(kernel_key(language(), layer("gate").id),
            "expert_linear c6 h4 w1 outputs8 experts5 active2");
  EXPECT_EQ(kernel_key(language(), layer("q").id), "linear c6 h4 w1 outputs6 bias");
  EXPECT_EQ(kernel_key(language(), layer("word").id), "embedding c1 h4 w1 rows10 outputs6");
}

TEST(SequenceLayers, FingerprintKnowsSharedWeights) {
  const Network own =
      test::load_text(test::replaced(language_model, ", weights_of: word", ""), load_network);
  EXPECT_NE(fingerprint(own), fingerprint(language()));
  EXPECT_EQ(own.parameter_count(), language().parameter_count() + 60);
}

TEST(SequenceLayers, WrongShapesAreRefused) {
  expect_contains(error_of("heads: 3, kv_heads: 1, causal", "heads: 3, kv_heads: 2, causal"),
                  "layer \"scores\" shares 2 kv_heads among 3 heads");
  expect_contains(error_of("heads: 3, kv_heads: 1, causal", "heads: 3, kv_heads: 3, causal"),
                  "cuts queries of 6 features into 3 heads, and keys of 2 into 3");
  expect_contains(error_of("outputs: 10, weights_of", "outputs: 11, weights_of"),
                  "layer \"decoder\" uses 66 weights, but \"word\" has 60");
  expect_contains(error_of("weights_of: word", "weights_of: wort"), "Did you mean \"word\"?");
  expect_contains(error_of("rows: 8, outputs: 6", "rows: 3, outputs: 6"),
                  "layer \"place\" has 3 rows but reads 4 tokens");
  expect_contains(error_of("outputs: 8, active: 2, from: [norm2, route]}\n  - {name: act",
                           "outputs: 8, active: 6, from: [norm2, route]}\n  - {name: act"),
                  "a number from 1 to 5, the experts of its route");
  expect_contains(error_of("kind: embedding, rows: 10, outputs: 6}",
                           "kind: linear, outputs: 6}\n  - {name: w, kind: embedding, rows: 10, "
                           "outputs: 6}"),
                  "embedding reads the tokens");
  expect_contains(error_of("{tokens: 4}", "{tokens: 4, width: 3}"), "beside tokens");
  expect_contains(error_of("from: [gate, up]", "from: gate"),
                  "silu_multiply reads two: the gate, then the values.");
}

TEST(ImageLayers, MayComputeAttention) {
  const Network network = load_network("vit_base");
  EXPECT_TRUE(network.has_attention());
  EXPECT_FALSE(network.is_over_sequences());
  EXPECT_EQ(network.samples(), "images");
}

/// A layer of a Transformer-XL: 4 tokens of 6 features, after 3 of the step before.
constexpr std::string_view recurrent_model = R"(network: recurrent
input: {tokens: 4}
layers:
  - {name: word, kind: embedding, rows: 10, outputs: 6}
  - {name: memory, kind: attention_memory, tokens: 3}
  - {name: q, kind: linear, outputs: 6, from: word}
  - {name: k, kind: linear, outputs: 6, from: memory}
  - {name: v, kind: linear, outputs: 6, from: memory}
  - {name: scores, kind: attention_scores, heads: 2, from: [q, k]}
  - {name: places, kind: relative_scores, heads: 2, from: [q, memory]}
  - {name: softmax, kind: attention_softmax, from: [scores, places]}
  - {name: context, kind: attention_context, kv_heads: 2, from: [softmax, v]}
  - {name: decoder, kind: linear, outputs: 10, weights_of: word}
  - {name: loss, kind: token_cross_entropy}
)";

TEST(SequenceLayers, AttendToTheStepBefore) {
  const Network network = test::load_text(recurrent_model, load_network);
  const auto& layers = network.layers();
  EXPECT_EQ(layers[2].output, (ImageShape{6, 7, 1}));
  EXPECT_EQ(layers[2].parameter_count(), 0);
  EXPECT_EQ(layers[4].forward_macs(), 6 * 6 * 7);
  const Layer& places = layers[7];
  EXPECT_EQ(places.output, (ImageShape{2, 4, 7}));
  EXPECT_EQ(places.parameter_count(), 6 * 6);
  EXPECT_EQ(places.forward_macs(), 4 * 7 * 6);
}

TEST(SequenceLayers, MakeTheVectorsOfPlacesOnceForABatch) {
  const Network network = test::load_text(recurrent_model, load_network);
  const LayerId places = network.layers()[7].id;
  const auto flops = [&](Pass pass, int batch) {
    return work(network, {places, pass}, batch, DType::f32).flops.si();
  };
  EXPECT_EQ(flops(Pass::forward, 5), 2 * (5 * 4 * 7 * 6 + 7 * 6 * 6));
  EXPECT_EQ(flops(Pass::backward_filter, 5), 2 * 7 * 6 * 6);
  EXPECT_EQ(flops(Pass::backward_data, 5), 4 * 5 * 4 * 7 * 6);
  const Work copy = work(network, {network.layers()[2].id, Pass::backward_data}, 5, DType::f32);
  EXPECT_EQ(copy.bytes.si(), 5 * 4 * 2 * 6 * 4);
}

TEST(SequenceLayers, OfLongSequencesMayHaveRelativePlaces) {
  const Network::Node memory{"memory", AttentionMemory{16384}, {"word"}};
  const Network network("long", {1, 16384, 1},
                        {{"word", Embedding{10, 16384, ""}, {"input"}},
                         memory,
                         {"places", RelativeScores{128}, {"word", "memory"}},
                         {"loss", TokenCrossEntropy{}, {"places"}}});
  EXPECT_EQ(network.layers()[3].output, (ImageShape{128, 16384, 32768}));
}

TEST(SequenceLayers, RefuseWrongPlaces) {
  expect_contains(test::error_after(recurrent_model, "relative_scores, heads: 2",
                                    "relative_scores, heads: 4", load_network),
                  "cuts queries of 6 features into 4 heads");
  expect_contains(
      test::error_after(recurrent_model, "from: [q, memory]", "from: [q, word]", load_network),
      "joins 2 × 4 × 7 and 2 × 4 × 4");
}

/// A block with squeeze and excitation, a depthwise convolution, and a transposed one.
constexpr std::string_view image_model = R"(network: pictures
input: {channels: 3, height: 8, width: 8}
layers:
  - {name: conv, kind: convolution, out_channels: 4, kernel: 3, pad: 1}
  - {name: depthwise, kind: convolution, out_channels: 4, kernel: 3, pad: 1, groups: 4, bias: false}
  - {name: pool, kind: global_average_pooling}
  - {name: reduce, kind: convolution, out_channels: 2, kernel: 1}
  - {name: silu, kind: silu}
  - {name: expand, kind: convolution, out_channels: 4, kernel: 1}
  - {name: sigmoid, kind: sigmoid}
  - {name: scale, kind: scale, from: [depthwise, sigmoid]}
  - {name: larger, kind: transposed_convolution, out_channels: 5, kernel: 2, stride: 2}
  - {name: tokens, kind: to_tokens, class_token: true, positions: true}
  - {name: first, kind: first_token}
  - {name: fc, kind: fully_connected, outputs: 10}
  - {name: loss, kind: softmax_cross_entropy}
)";

TEST(ImageLayers, HaveShapesParametersAndWork) {
  const Network network = test::load_text(image_model, load_network);
  EXPECT_FALSE(network.is_over_sequences());
  EXPECT_FALSE(network.has_attention());
  const auto& layers = network.layers();
  EXPECT_EQ(layers[2].parameter_count(), 4 * 9);
  EXPECT_EQ(layers[2].forward_macs(), 4 * 9 * 64);
  EXPECT_EQ(layers[8].output, (ImageShape{4, 8, 8}));
  EXPECT_EQ(layers[9].output, (ImageShape{5, 16, 16}));
  EXPECT_EQ(layers[9].parameter_count(), 5 * 4 * 4 + 5);
  EXPECT_EQ(layers[9].forward_macs(), 5 * 4 * 4 * 64);
  EXPECT_EQ(layers[10].output, (ImageShape{5, 257, 1}));
  EXPECT_EQ(layers[10].parameter_count(), 5 * 258);
  const Work scale = work(network, {layers[8].id, Pass::backward_data}, 1, DType::f32);
  EXPECT_EQ(scale.bytes.si(), 4 * (2 * (256 + 4) + 256));
  expect_contains(
      test::error_after(image_model, "[depthwise, sigmoid]", "[depthwise, pool]", load_network),
      "\"sigmoid\" is read by no layer");
}

}  // namespace
}  // namespace dlscale
