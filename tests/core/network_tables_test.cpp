#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/network/kept_outputs.hpp"
#include "core/network/network.hpp"
#include "tests/core/csv_fields.hpp"

namespace dlscale {
namespace {

/// Layers by kind and size, as in tests/data/networks: "conv,outputs,parameters,macs,window".
using Layers = std::map<std::string, int>;

const std::filesystem::path tables = DLSCALE_SOURCE_DIR "/tests/data/networks";

Layers read_layers_of(const std::string& network) {
  std::ifstream stream(tables / (network + ".csv"));
  std::string line;
  std::getline(stream, line);  // where it is from
  std::getline(stream, line);  // names of columns
  Layers layers;
  while (std::getline(stream, line)) {
    const std::size_t last = line.rfind(',');
    layers[line.substr(0, last)] = std::stoi(line.substr(last + 1));
  }
  return layers;
}

/// The table's words for kinds.
std::string word_of(const Layer& layer) {
  static const std::map<std::string, std::string, std::less<>> words{
      {"convolution", "conv"},
      {"max_pooling", "maxpool"},
      {"average_pooling", "avgpool"},
      {"batch_norm", "batchnorm"},
      {"layer_norm", "layernorm"},
      {"rms_norm", "rmsnorm"},
      {"fully_connected", "fc"},
      {"linear", "fc"},
      {"expert_linear", "fc"},
      {"position_embedding", "embedding"},
      {"relative_positions", "embedding"},
      {"attention_scores", "matmul"},
      {"attention_softmax", "softmax"},
      {"attention_context", "matmul"},
      {"route", "softmax"},
      {"silu_multiply", "silu_mul"},
      {"sum", "eltwise_add"},
      {"softmax_cross_entropy", "softmax_xent"},
      {"token_cross_entropy", "softmax_xent"}};
  const auto found = words.find(kind_name(layer.kind));
  return found == words.end() ? std::string(kind_name(layer.kind)) : found->second;
}

/// Channels, filter, both strides, both pads, dilation and groups.
std::string window_of(const Layer& layer) {
  std::ostringstream text;
  const int channels = layer.input_shapes.front().channels;
  if (const auto* kind = std::get_if<Convolution>(&layer.kind)) {
    text << channels << ' ' << kind->kernel_h << ' ' << kind->kernel_w << ' ' << kind->stride << ' '
         << kind->stride_along_width() << ' ' << kind->pad << ' ' << kind->pad_along_width() << ' '
         << kind->dilation << ' ' << kind->groups;
  } else if (const auto* pooling = std::get_if<Pooling>(&layer.kind)) {
    text << channels << ' ' << pooling->kernel_h << ' ' << pooling->kernel_w << ' '
         << pooling->stride << ' ' << pooling->stride << ' ' << pooling->pad << ' ' << pooling->pad
         << " 1 1";
  } else if (std::holds_alternative<ExpertLinear>(layer.kind)) {
    text << "experts " << layer.input_shapes.back().channels;
  }
  return text.str();
}

/// Kinds that the tables leave out; BERT's second loss is one too.
bool is_listed(const Layer& layer) {
  static const std::set<std::string_view> others{"input", "first_token", "sigmoid"};
  return !others.contains(kind_name(layer.kind)) && layer.name != "nsp_loss";
}

Layers layers_of(const Network& network) {
  Layers layers;
  for (const Layer& layer : network.layers()) {
    if (!is_listed(layer)) continue;
    std::ostringstream text;
    text << word_of(layer) << ',' << layer.output.elements() << ',' << layer.parameter_count()
         << ',' << layer.forward_macs() << ',' << window_of(layer);
    ++layers[text.str()];
  }
  return layers;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(tables)) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class NetworkTable : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, NetworkTable, testing::ValuesIn(table_names()));

TEST_P(NetworkTable, HasTheSameLayersAsTheNetwork) {
  const Layers expected = read_layers_of(GetParam());
  const Layers actual = layers_of(load_network(GetParam()));
  EXPECT_GT(expected.size(), 10U);
  for (const auto& [layer, count] : expected) {
    const auto found = actual.find(layer);
    EXPECT_EQ(found == actual.end() ? 0 : found->second, count) << layer;
  }
  for (const auto& [layer, count] : actual) EXPECT_TRUE(expected.contains(layer)) << layer;
}

struct Totals {
  std::string network;
  std::int64_t parameters;
  double giga_macs;  ///< forward, one sample, in 10⁹, to two digits; 0: not published
};

/// Networks without a table: parameters and multiply-adds as torchvision states them ("GFLOPS"), or
/// as transformers and Caffe count parameters.
TEST(NetworkTotals, AreThoseOfTheirSource) {
  for (const auto& [name, parameters, giga_macs] :
       std::vector<Totals>{{"resnet18", 11689512, 1.81},
                           {"resnet34", 21797672, 3.66},
                           {"resnext50_32x4d", 25028904, 4.23},
                           {"se_resnext50_32x4d", 27559896, 0},
                           {"densenet169", 14149480, 3.36},
                           {"mobilenet_v2", 3504872, 0.30},
                           {"vit_base", 86567656, 17.56},
                           {"vit_large", 304326632, 61.55},
                           {"cifar10_quick", 145578, 0},
                           {"gpt2", 124439808, 0},
                           {"gpt2_medium", 354823168, 0},
                           {"gpt2_large", 774030080, 0},
                           {"t5_base", 222903552, 0}}) {
    const Network network = load_network(name);
    EXPECT_EQ(network.parameter_count(), parameters) << name;
    if (giga_macs == 0) continue;
    EXPECT_NEAR(static_cast<double>(network.forward_macs()) / 1e9, giga_macs, 0.005) << name;
  }
}

/// V h + T h + L (12 h² + 13 h) + 2 h parameters, of V words, T places, L layers and h features;
/// and T (V h + L (12 h² + 2 T h)) multiply-adds.
TEST(NetworkTotals, OfTheGptFamilyFollowFromItsDimensions) {
  struct Dimensions {
    std::string network;
    std::int64_t layers;
    std::int64_t width;
    std::int64_t tokens;
  };
  constexpr std::int64_t words = 50257;
  for (const auto& [name, layers, width, tokens] :
       std::vector<Dimensions>{{"gpt2", 12, 768, 1024},
                               {"gpt2_xl", 48, 1600, 1024},
                               {"gpt3_2.7b", 32, 2560, 2048},
                               {"gpt3_6.7b", 32, 4096, 2048},
                               {"gpt3_13b", 40, 5120, 2048}}) {
    const Network network = load_network(name);
    EXPECT_EQ(network.parameter_count(),
              (words + tokens + 2) * width + layers * (12 * width * width + 13 * width))
        << name;
    EXPECT_EQ(network.forward_macs(),
              tokens * (words * width + layers * (12 * width * width + 2 * tokens * width)))
        << name;
  }
}

/// Networks for speech have as many millions of parameters as their papers state.
TEST(NetworkTotals, OfSpeechAreThoseOfTheirPapers) {
  const auto millions = [](const std::string& name) {
    return static_cast<double>(load_network(name).parameter_count()) / 1e6;
  };
  EXPECT_NEAR(millions("jasper_10x5"), 333, 0.5);       // arXiv:1904.03288
  EXPECT_NEAR(millions("quartznet_15x5"), 18.9, 0.05);  // arXiv:1910.10261
}

/// Multiply-adds of attention and two linear layers: t tokens read s, with h features, of which f
/// inside.
std::int64_t transformer_macs(std::int64_t t, std::int64_t s, std::int64_t h, std::int64_t f) {
  const std::int64_t attention = 2 * t * h * h + 2 * s * h * h + 2 * t * s * h;
  return attention + 2 * t * h * f;
}

/// Published: 210,808,832 parameters with four norms more [NVIDIA/DeepLearningExamples], and 213
/// million with more words [arXiv:1706.03762, table 3]. They are h V of words V, and of each layer
/// 4 h² an attention, without biases, 2 h f + f + h of the inner layers, and 2 h a norm.
TEST(NetworkTotals, OfTransformerBigFollowFromItsDimensions) {
  constexpr std::int64_t h = 1024;
  constexpr std::int64_t f = 4096;
  constexpr std::int64_t words = 33708;
  constexpr std::int64_t t = 32;
  const Network network = load_network("transformer_big");
  constexpr std::int64_t inner = 2 * h * f + f + h;
  EXPECT_EQ(network.parameter_count(),
            words * h + 6 * (4 * h * h + inner + 4 * h) + 6 * (8 * h * h + inner + 6 * h));
  EXPECT_EQ(network.parameter_count() + 4 * 2 * h, 210808832);
  EXPECT_EQ(network.forward_macs(),
            t * words * h + 12 * transformer_macs(t, t, h, f) + 6 * transformer_macs(t, t, h, 0));
}

/// Published of the base model in these sizes: 192 million parameters. A layer has weights of five
/// products of width h, one of them of relative places, two inner layers and two norms. Keys,
/// values and places are of the step before, too.
TEST(NetworkTotals, OfTransformerXlFollowFromItsDimensions) {
  const auto layer = [](std::int64_t h, std::int64_t f) {
    return 5 * h * h + 2 * h * f + f + h + 4 * h;
  };
  const Network base = load_network("transformer_xl_base");
  EXPECT_EQ(base.parameter_count(), std::int64_t{267735} * 512 + 16 * layer(512, 2048));
  EXPECT_NEAR(static_cast<double>(base.parameter_count()), 192e6, 0.5e6);
  constexpr std::int64_t t = 192;
  const auto places = [](std::int64_t tokens, std::int64_t h) { return 2 * tokens * tokens * h; };
  EXPECT_EQ(base.forward_macs(),
            t * 512 * 25000 + 16 * (transformer_macs(t, 2 * t, 512, 2048) + places(t, 512)));
  const Network large = load_network("transformer_xl_large");
  constexpr std::int64_t tables = 20000 * (1024 + 256) + 160000 * 64 + 67735 * 16;
  constexpr std::int64_t widened = 1024 * (1024 + 1024 + 256 + 64 + 16);
  EXPECT_EQ(large.parameter_count(), tables + widened + 18 * layer(1024, 4096));
  constexpr std::int64_t l = 384;
  EXPECT_EQ(large.forward_macs(),
            l * (widened + 1024 * 20000) +
                18 * (transformer_macs(l, 2 * l, 1024, 4096) + places(l, 1024)));
}

/// Convolutions of a level of c channels and p pixels: 3 × 3, downwards c² / 2 + c² of them,
/// upwards 2 c² + c², and 2 × 2 upwards from 2 c channels to c.
TEST(NetworkTotals, OfUnetFollowFromItsLevels) {
  const Network network = load_network("unet");
  // 31,037,633 with one class of pixels [milesial/Pytorch-UNet].
  EXPECT_EQ(network.parameter_count(), 31037633 + 65);
  std::int64_t macs = std::int64_t{9} * (3 * 64 - 64 * 64 / 2) * 512 * 512;  // reads 3 channels
  std::int64_t pixels = std::int64_t{512} * 512;
  std::int64_t channels = 64;
  for (int level = 0; level < 5; ++level, channels *= 2, pixels /= 4) {
    macs += 9 * channels * channels * 3 / 2 * pixels;
    if (level < 4) macs += (9 * 3 + 2) * channels * channels * pixels;
  }
  EXPECT_EQ(network.forward_macs(), macs + 2 * 64 * 512 * 512);
}

/// Of s tokens with h features, a layer of GPT with a heads keeps 16 s h elements and a s² scores:
/// 34 s h and 5 a s² bytes [arXiv:2205.05198, equation 1] less the masks and outputs of its three
/// dropouts, which gpt2 leaves out.
TEST(KeptOutputs, OfALayerOfGptAreThePublishedNumber) {
  constexpr std::int64_t s = 1024;
  constexpr std::int64_t h = 1600;
  constexpr std::int64_t a = 25;
  const Network network = load_network("gpt2_xl");
  const std::vector<bool> kept = kept_outputs(network);
  std::int64_t elements = 0;
  for (const Layer& layer : network.layers()) {
    const bool in_block = layer.name.starts_with("h7.") || layer.name == "h6.sum2";
    if (in_block && layer.name != "h7.sum2" && kept[layer.id.index()]) {
      elements += layer.output.elements();
    }
  }
  EXPECT_EQ(elements, 16 * s * h + a * s * s);
  EXPECT_GT(kept_elements(network), 48 * elements);
}

TEST(KeptOutputs, OfAResidualBlockAreThoseThatBackwardReads) {
  const Network network = load_network("resnet18");
  const std::vector<bool> kept = kept_outputs(network);
  for (const Layer& layer : network.layers()) {
    if (!layer.name.starts_with("stage3.0.")) continue;
    const std::string name = layer.name.substr(9);
    const bool expected = name.starts_with("conv") || name.starts_with("relu");
    EXPECT_EQ(kept[layer.id.index()], expected) << layer.name;
  }
}

}  // namespace
}  // namespace dlscale
