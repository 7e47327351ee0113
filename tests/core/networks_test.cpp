#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "tests/core/csv_fields.hpp"

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
  for (const std::string& name : config_names("networks")) {
    const Network network = load_network(name);
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
  for (const std::string& name : names) {
    const Network network = load_network(name);
    EXPECT_EQ(network.name(), name);
    EXPECT_FALSE(backward_steps(network).empty());
    EXPECT_GT(gradient_buckets(network, Schedule::bucketed).size(), 0U);
  }
}

}  // namespace
}  // namespace dlscale
