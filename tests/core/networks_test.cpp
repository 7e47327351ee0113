#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/config/config_path.hpp"
#include "core/network/file/published_network.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "tests/core/configured_networks.hpp"
#include "tests/core/csv_fields.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<Row> read_table(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::string line;
  do {
    std::getline(stream, line);
  } while (line.starts_with('#'));  // where it is from
  const std::vector<std::string> names = csv_fields(line);
  std::vector<Row> rows;
  while (std::getline(stream, line)) {
    const std::vector<std::string> fields = csv_fields(line);
    Row row;
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields.at(i);
    rows.push_back(row);
  }
  return rows;
}

const Layer* find_layer(const Network& network, const std::string& name) {
  for (const Layer& layer : network.layers()) {
    if (layer.name == name) return &layer;
  }
  return nullptr;
}

/// A network and the reference table that describes it.
struct Published {
  std::string network;
  std::string table;
  std::int64_t parameters;  ///< total, auxiliary heads included
  std::int64_t macs;        ///< forward, one image
  int convolutions;
};

std::ostream& operator<<(std::ostream& stream, const Published& published) {
  return stream << published.network;
}

class PublishedNetwork : public testing::TestWithParam<Published> {};

INSTANTIATE_TEST_SUITE_P(
    All, PublishedNetwork,
    testing::Values(Published{"alexnet", "alexnet_2012", 60965224, 724406816, 5},
                    Published{"alexnet_owt", "alexnet_owt", 61100840, 714188480, 5},
                    Published{"overfeat", "overfeat_fast", 145920872, 2801403904, 5},
                    Published{"vgg11", "vgg11_A", 132863336, 7609090048, 8},
                    Published{"vgg16", "vgg16_D", 138357544, 15470264320, 13},
                    Published{"vgg19", "vgg19_E", 143667240, 19632062464, 16},
                    Published{"googlenet", "googlenet_v1", 13378280, 1591044096, 59},
                    Published{"resnet50", "resnet50_v1", 25557032, 3857973248, 53},
                    Published{"resnet50_v1.5", "resnet50_v1.5", 25557032, 4089184256, 53},
                    Published{"resnet152", "resnet152_v1", 60192808, 11282415616, 155}));

TEST_P(PublishedNetwork, HasItsPublishedTotals) {
  const Network network = load_network(GetParam().network);
  EXPECT_EQ(network.name(), GetParam().network);
  EXPECT_EQ(network.parameter_count(), GetParam().parameters);
  EXPECT_EQ(network.forward_macs(), GetParam().macs);
  EXPECT_EQ(network.classes(), 1000);
  int convolutions = 0;
  for (const Layer& layer : network.layers()) {
    convolutions += std::holds_alternative<Convolution>(layer.kind) ? 1 : 0;
  }
  EXPECT_EQ(convolutions, GetParam().convolutions);
}

/// The table has one row for the ReLUs of an inception module, its c their sum.
void expect_merged_relu(const Network& network, const Row& row) {
  const std::string module = row.at("layer").substr(0, row.at("layer").find('/'));
  int channels = 0;
  for (const Layer& layer : network.layers()) {
    if (!layer.name.starts_with(module + "/relu_")) continue;
    EXPECT_TRUE(std::holds_alternative<Relu>(layer.kind)) << layer.name;
    EXPECT_EQ(layer.output.height, std::stoi(row.at("out_h")));
    channels += layer.output.channels;
  }
  EXPECT_EQ(channels, std::stoi(row.at("c"))) << module;
}

std::string table_kind(const Layer& layer) {
  static const std::map<std::string, std::string, std::less<>> words{
      {"convolution", "conv"},
      {"max_pooling", "maxpool"},
      {"average_pooling", "avgpool"},
      {"batch_norm", "batchnorm"},
      {"fully_connected", "fc"},
      {"sum", "eltwise_add"},
      {"softmax_cross_entropy", "softmax_xent"}};
  const auto found = words.find(kind_name(layer.kind));
  return found == words.end() ? std::string(kind_name(layer.kind)) : found->second;
}

void expect_window(int kernel_h, int kernel_w, int stride, int pad, const Row& row) {
  EXPECT_EQ(kernel_h, std::stoi(row.at("r")));
  EXPECT_EQ(kernel_w, std::stoi(row.at("s")));
  EXPECT_EQ(stride, std::stoi(row.at("stride")));
  EXPECT_EQ(pad, std::stoi(row.at("pad")));
}

void expect_input(const Layer& layer, const Row& row) {
  const ImageShape in = layer.input_shapes.front();
  if (std::holds_alternative<FullyConnected>(layer.kind)) {
    EXPECT_EQ(in.elements(), std::stoi(row.at("c")));  // the table flattens it
  } else if (!std::holds_alternative<Concat>(layer.kind)) {
    EXPECT_EQ(in,
              (ImageShape{std::stoi(row.at("c")), std::stoi(row.at("h")), std::stoi(row.at("w"))}));
  }
}

void expect_layer(const Layer& layer, const Row& row) {
  SCOPED_TRACE(layer.name);
  EXPECT_EQ(table_kind(layer), row.at("kind"));
  expect_input(layer, row);
  if (!std::holds_alternative<SoftmaxCrossEntropy>(layer.kind)) {
    EXPECT_EQ(layer.output, (ImageShape{std::stoi(row.at("k")), std::stoi(row.at("out_h")),
                                        std::stoi(row.at("out_w"))}));
  }
  // For batch normalisation the table counts scale and shift as weights.
  const bool is_batch_norm = std::holds_alternative<BatchNorm>(layer.kind);
  EXPECT_EQ(is_batch_norm ? layer.parameter_count() : layer.weight_count(),
            std::stoll(row.at("weight_params")));
  EXPECT_EQ(is_batch_norm ? 0 : layer.bias_count(), std::stoll(row.at("bias_params")));
  EXPECT_EQ(layer.forward_macs(), std::stoll(row.at("fwd_macs_per_image")));
  if (const auto* kind = std::get_if<Convolution>(&layer.kind)) {
    expect_window(kind->kernel_h, kind->kernel_w, kind->stride, kind->pad, row);
    EXPECT_EQ(kind->groups, std::stoi(row.at("groups")));
  } else if (const auto* pooling = std::get_if<Pooling>(&layer.kind)) {
    expect_window(pooling->kernel_h, pooling->kernel_w, pooling->stride, pooling->pad, row);
  }
}

TEST_P(PublishedNetwork, HasEveryLayerOfItsTable) {
  const std::filesystem::path table =
      std::filesystem::path(DLSCALE_SHARED_DATA) / "data" / ("net_" + GetParam().table + ".csv");
  if (!std::filesystem::exists(table)) GTEST_SKIP() << "no reference table " << table;
  const Network network = load_network(GetParam().network);
  std::size_t compared = 0;
  for (const Row& row : read_table(table)) {
    std::string name = row.at("layer");
    if (name.ends_with("relu(all)")) {
      expect_merged_relu(network, row);
      continue;
    }
    if (name == "prob") name = GetParam().network == "googlenet" ? "loss3/loss" : "loss";
    const Layer* layer = find_layer(network, name);
    ASSERT_NE(layer, nullptr) << name;
    expect_layer(*layer, row);
    ++compared;
  }
  EXPECT_GE(compared, 18U);
}

/// Without what a kernel needs to know beside the shape.
std::string shape_of(const Layer& layer) {
  const auto& kind = std::get<Convolution>(layer.kind);
  const ImageShape& in = layer.input_shapes.front();
  std::ostringstream text;
  text << in.channels << ' ' << in.height << ' ' << in.width << ' ' << kind.out_channels << ' '
       << kind.kernel_h << ' ' << kind.kernel_w << ' ' << kind.pad << ' ' << kind.stride << ' '
       << kind.groups;
  return text.str();
}

TEST(ConfiguredNetworks, HaveAllDistinctConvolutionsOfTheTable) {
  const std::filesystem::path table = DLSCALE_SOURCE_DIR "/tests/data/distinct_convolutions.csv";
  std::set<std::string> configured;
  for (const Network& network : test::configured_networks()) {
    for (const Layer& layer : network.layers()) {
      if (std::holds_alternative<Convolution>(layer.kind)) configured.insert(shape_of(layer));
    }
  }
  std::set<std::string> published;
  for (const Row& row : read_table(table)) {
    std::string text;
    for (const char* size : {"c", "h", "w", "k", "r", "s", "pad", "stride", "groups"}) {
      text += (text.empty() ? "" : " ") + row.at(size);
    }
    EXPECT_TRUE(configured.contains(text)) << row.at("layer") << ": " << text;
    published.insert(text);
  }
  EXPECT_EQ(published.size(), 99U);
}

TEST(ConfiguredNetworks, AllLoadAndAreCalledLikeTheirFiles) {
  const std::vector<std::string> names = config_names("networks");
  EXPECT_GE(names.size(), 9U);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Network& network = test::configured_networks().at(i);
    EXPECT_EQ(network.name(), names[i]);
    EXPECT_FALSE(backward_steps(network).empty());
    EXPECT_GT(gradient_buckets(network, Schedule::bucketed).size(), 0U);
  }
}

TEST(PublishedName, MeansAFile) {
  EXPECT_EQ(find_network("ResNeXt-101-32x4d"), "resnext101_32x4d");
  EXPECT_EQ(find_network("Transformer-XL-Base"), "transformer_xl_base");
  EXPECT_EQ(find_network("BERT-Large"), "bert_large");
  EXPECT_EQ(find_network("AlexNet"), "alexnet_owt");
  EXPECT_EQ(find_network("ResNet-50"), "resnet50_v1.5");
  EXPECT_EQ(find_network("ResNet-50 v1.5"), "resnet50_v1.5");
  EXPECT_EQ(find_network("GPT h1024 L12"), "");
}

TEST(ListedNetwork, IsToldApartFromANetworkWithItsList) {
  EXPECT_EQ(listed_network("convnet", "L1"), "convnet_L1");
  EXPECT_EQ(set_of("convnet_L1", "L1"), "convnet");
  EXPECT_EQ(set_of("alexnet_owt", "conv1"), "alexnet_owt");
  EXPECT_EQ(set_of("vgg16", ""), "vgg16");
}

constexpr std::string_view every_field = R"(network: small
input: {channels: 4, height: 8, width: 8}
layers:
  - {name: conv, kind: convolution, out_channels: 4, kernel: 3, pad: 1, stride: 1, groups: 1, bias: true}
  - {name: norm, kind: batch_norm, epsilon: 0.5}
  - {name: lrn, kind: lrn, size: 3, alpha: 0.5, beta: 0.75, k: 2}
  - {name: drop, kind: dropout, probability: 0.25, from: norm}
  - {name: add, kind: sum, from: [lrn, drop]}
  - {name: pool, kind: max_pooling, kernel: 3, stride: 2, pad: 1, ceil_mode: false}
  - {name: fc, kind: fully_connected, outputs: 10, bias: true}
  - {name: loss, kind: softmax_cross_entropy, loss_weight: 0.5}
)";

std::string of_text(const std::string& text) {
  const test::TemporaryFolder folder;
  return fingerprint(load_network(folder.write("small.yaml", text).string()));
}

std::string after(std::string_view from, std::string_view to) {
  return of_text(test::replaced(every_field, from, to));
}

TEST(Fingerprint, ChangesWithEveryFieldOfALayer) {
  std::set<std::string> seen{of_text(std::string(every_field))};
  std::size_t count = 1;
  for (const auto& [from, to] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"channels: 4, height", "channels: 8, height"},
           {"height: 8", "height: 9"},
           {"out_channels: 4", "out_channels: 8"},
           {"kernel: 3, pad: 1, stride: 1", "kernel: 5, pad: 2, stride: 1"},
           {"kernel: 3, pad: 1, stride: 1", "kernel: [1, 3], pad: 0, stride: 1"},
           {"stride: 1", "stride: 2"},
           {"groups: 1", "groups: 2"},
           {"bias: true}\n  - {name: norm", "bias: false}\n  - {name: norm"},
           {"epsilon: 0.5", "epsilon: 0.25"},
           {"size: 3", "size: 5"},
           {"alpha: 0.5", "alpha: 0.25"},
           {"beta: 0.75", "beta: 0.5"},
           {"k: 2", "k: 1"},
           {"probability: 0.25", "probability: 0.5"},
           {"from: norm", "from: lrn"},
           {"from: [lrn, drop]", "from: [drop, lrn]"},
           {"kind: sum", "kind: concat"},
           {"kind: max_pooling", "kind: average_pooling"},
           {"ceil_mode: false", "ceil_mode: true"},
           {"outputs: 10", "outputs: 11"},
           {"loss_weight: 0.5", "loss_weight: 1"}}) {
    seen.insert(after(from, to));
    EXPECT_EQ(seen.size(), ++count) << from << " → " << to;
  }
}

TEST(Fingerprint, DoesNotDependOnNamesAndLayout) {
  const std::string original = of_text(std::string(every_field));
  EXPECT_EQ(after("network: small", "network: other\ndoc: words"), original);
  EXPECT_EQ(after("name: conv", "name: first"), original);
  EXPECT_EQ(after("kind: lrn, size: 3", "size: 3, kind: lrn"), original);
  EXPECT_EQ(after("from: norm}", "from: [norm]}   # a comment"), original);
}

TEST(Fingerprint, IsTheHashOfItsDescription) {
  // FNV-1a, by another program, of "input c2 h1 w1 from\nfully_connected c2 h1 w1 outputs3 bias
  // from 0\nsoftmax_cross_entropy c3 h1 w1 loss_weight1 from 1\n".
  const std::string text =
      "network: x\ninput: {channels: 2, height: 1, width: 1}\nlayers:\n"
      "  - {name: fc, kind: fully_connected, outputs: 3}\n"
      "  - {name: loss, kind: softmax_cross_entropy}\n";
  EXPECT_EQ(of_text(text), "3839ad526eb18775");
}

TEST(Fingerprint, TellsAllConfiguredNetworksApart) {
  std::set<std::string> seen;
  for (const Network& network : test::configured_networks()) {
    EXPECT_TRUE(seen.insert(fingerprint(network)).second) << network.name();
  }
}

}  // namespace
}  // namespace dlscale
