#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_operation.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/cuda/cudnn_layers/driver_library.hpp"
#include "tests/backend/compute/cuda/described_gpus.hpp"
#include "tests/backend/compute/layers.hpp"

/// Layers as graphs of cuDNN, held against what it says of them for a GPU that is only described.
namespace dlscale::backend::cuda {
namespace {

constexpr int batch = 64;

struct Case {
  LayerKind kind;
  ImageShape input;
};

Pooling pooling(PoolingKind kind, int kernel, int stride, int pad, bool ceil_mode = false) {
  return {.kind = kind,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride = stride,
          .pad = pad,
          .ceil_mode = ceil_mode};
}

const std::map<std::string, Case>& cases() {
  static const std::map<std::string, Case> all{
      {"resnet50_pool1", {pooling(PoolingKind::max, 3, 2, 1), {64, 112, 112}}},
      {"googlenet_pool1", {pooling(PoolingKind::max, 3, 2, 0, true), {64, 112, 112}}},
      {"max_13x13", {pooling(PoolingKind::max, 13, 1, 0), {64, 13, 13}}},
      {"max_17_channels", {pooling(PoolingKind::max, 2, 2, 0), {17, 7, 7}}},
      {"average_padded", {pooling(PoolingKind::average, 3, 2, 1, true), {64, 28, 28}}},
      {"average_global", {pooling(PoolingKind::average, 7, 1, 0), {2048, 7, 7}}},
      {"batch_norm_early", {BatchNorm{}, {64, 112, 112}}},
      {"batch_norm_late", {BatchNorm{}, {2048, 7, 7}}},
      {"batch_norm_17_channels", {BatchNorm{}, {17, 6, 6}}},
      {"relu", {Relu{}, {256, 56, 56}}},
      {"relu_17_channels", {Relu{}, {17, 5, 5}}},
  };
  return all;
}

OperationSpec spec_of(const Case& wanted, DType dtype, Order order) {
  const Layer layer = make_layer(wanted.kind, {wanted.input});
  const auto& [channels, height, width] = wanted.input;
  return {layer, batch, dtype, {tensor_desc({batch, channels, height, width}, dtype, order)}};
}

/// What the engines say needs descriptions of devices, and the driver's library.
bool engines_answer() {
  return cudnnGetVersion() >= 90800 && load_driver_library();
}

struct Count {
  std::int64_t engines = 0;      ///< that support the graph
  std::int64_t recommended = 0;  ///< settings of them
  bool operator==(const Count&) const = default;
};

Count count_engines(const Graph& graph) {
  Count count;
  for (std::int64_t i = 0; i < graph.engine_count(); ++i) {
    const auto found = engine(graph, i);
    if (found && default_configuration(graph, *found)) ++count.engines;
  }
  count.recommended = static_cast<std::int64_t>(recommended(graph).size());
  return count;
}

/// Nothing of graphs that are refused.
Count take_census(const std::string& gpu, const Case& wanted, Pass pass, DType dtype, Order order) {
  const Target target = described_target(gpu == "H200" ? h200() : a100());
  try {
    return count_engines(graph_layer(spec_of(wanted, dtype, order), order)->graph(target, pass));
  } catch (const Unsupported&) {
    return {};
  }
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

Count census_of(const std::vector<std::string>& words) {
  const Pass pass = words.at(2) == "forward" ? Pass::forward : Pass::backward_data;
  return take_census(words.at(0), cases().at(words.at(1)), pass, parse_dtype(words.at(3)),
                     words.at(4) == "nhwc" ? Order::nhwc : Order::nchw);
}

TEST(LayerCensus, FindsTheEnginesOfThisVersion) {
  if (!engines_answer()) GTEST_SKIP() << "no cuDNN 9.8, or no library of a driver";
  const std::size_t version = cudnnGetVersion();
  const std::string name =
      fmt::format("layer_census_{}.{}.{}.csv", version / 10000, version / 100 % 100, version % 100);
  std::ifstream file(std::filesystem::path(DLSCALE_SOURCE_DIR) /
                     "tests/backend/compute/cuda/cudnn_layers" / name);
  if (!file) GTEST_SKIP() << "no golden counts for this cuDNN: " << name;
  std::string line;
  std::getline(file, line);  // the heading
  int lines = 0;
  for (; std::getline(file, line); ++lines) {
    const std::vector<std::string> words = words_of(line);
    ASSERT_EQ(words.size(), 7U) << line;
    const Count count = census_of(words);
    EXPECT_EQ(count.engines, std::stol(words.at(5))) << line;
    EXPECT_EQ(count.recommended, std::stol(words.at(6))) << line;
  }
  EXPECT_GT(lines, 80);
}

/// What is compiled for a graph is written down with its plan.
TEST(LayerPlans, AreMadeAgainFromWhatTheySerializedTo) {
  if (!engines_answer()) GTEST_SKIP() << "no cuDNN 9.8, or no library of a driver";
  const auto graph = std::make_shared<const Graph>(
      graph_layer(spec_of(cases().at("relu"), DType::bf16, Order::nhwc), Order::nhwc)
          ->graph(described_target(h200()), Pass::forward));
  int made = 0;
  for (const Setting& setting : settings(*graph)) {
    std::string text;
    std::string name;
    try {
      const Plan plan(graph, setting.configuration);
      text = plan.serialized();
      name = plan.name();
    } catch (const Error&) {  // it cannot be compiled without a driver
    }
    if (text.empty()) continue;
    EXPECT_EQ(Plan(graph, setting.configuration, text).name(), name);
    EXPECT_EQ(Plan(graph, setting.configuration, text).serialized(), text);
    ++made;
  }
  if (made == 0) GTEST_SKIP() << "this cuDNN writes no plan without a driver";
}

TEST(LayerGraphs, HaveAnEngineForTheLayersOfResnet50InEveryPrecision) {
  if (!engines_answer()) GTEST_SKIP() << "no cuDNN 9.8, or no library of a driver";
  for (const std::string layer : {"resnet50_pool1", "average_global", "batch_norm_late", "relu"}) {
    for (const DType dtype : all_dtypes) {
      for (const Order order : {Order::nchw, Order::nhwc}) {
        if (layer == "batch_norm_late" && order == Order::nchw) continue;
        for (const Pass pass : {Pass::forward, Pass::backward_data}) {
          EXPECT_GT(take_census("H200", cases().at(layer), pass, dtype, order).recommended, 0)
              << layer << " " << dtype_name(dtype) << " " << pass_name(pass);
        }
      }
    }
  }
}

/// cuDNN makes plans for it that would read the tensors as nhwc.
TEST(LayerGraphs, AreRefusedForABatchNormOfPlanes) {
  const OperationSpec spec = spec_of(cases().at("batch_norm_late"), DType::bf16, Order::nchw);
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    EXPECT_THROW(static_cast<void>(graph_layer(spec, Order::nchw)->graph({}, pass)), Unsupported);
  }
}

TEST(LayerGraphs, AreRefusedWherePlacesInAWindowDoNotFit) {
  const Case large = cases().at("max_13x13");
  const OperationSpec spec = spec_of(large, DType::f32, Order::nhwc);
  EXPECT_THROW(static_cast<void>(graph_layer(spec, Order::nhwc)->graph({}, Pass::forward)),
               Unsupported);
}

TEST(LayerGraphs, AreOnlyThereForLayersThatCudnnMayDo) {
  for (const LayerKind& kind : {LayerKind(Lrn{}), LayerKind(Dropout{})}) {
    const OperationSpec spec = spec_of({kind, {8, 4, 4}}, DType::f32, Order::nhwc);
    EXPECT_EQ(graph_layer(spec, Order::nhwc), nullptr);
  }
  OperationSpec fused = spec_of(cases().at("batch_norm_late"), DType::f32, Order::nhwc);
  EXPECT_NE(graph_layer(fused, Order::nhwc), nullptr);
  fused.layer.relu = true;
  EXPECT_EQ(graph_layer(fused, Order::nhwc), nullptr);
}

/// A tensor of each kind, at addresses that differ.
class Places {
 public:
  explicit Places(const OperationSpec& spec)
      : inputs_{{spec.inputs.front(), place(0)}},
        input_gradients_{{spec.inputs.front(), place(1)}},
        parameters_{{{}, place(2)}, {{}, place(3)}},
        parameter_gradients_{{{}, place(4)}, {{}, place(5)}} {}

  [[nodiscard]] Operands operands() {
    return {.inputs = inputs_,
            .output = {{}, place(6)},
            .parameters = parameters_,
            .output_gradient = {{}, place(7)},
            .input_gradients = input_gradients_,
            .parameter_gradients = parameter_gradients_,
            .labels = {}};
  }
  [[nodiscard]] std::byte* state() { return place(8); }

 private:
  std::byte* place(std::size_t i) { return memory_.data() + i; }

  std::array<std::byte, 16> memory_{};
  std::vector<Tensor> inputs_;
  std::vector<Tensor> input_gradients_;
  std::vector<Tensor> parameters_;
  std::vector<Tensor> parameter_gradients_;
};

std::set<TensorId> bound(const std::string& layer, Pass pass, Order order) {
  const OperationSpec spec = spec_of(cases().at(layer), DType::bf16, order);
  Places memory(spec);
  std::set<TensorId> ids;
  std::set<void*> places;
  for (const Binding& binding :
       graph_layer(spec, order)->bindings(pass, memory.operands(), memory.state())) {
    EXPECT_NE(binding.data, nullptr);
    EXPECT_TRUE(ids.insert(binding.id).second);
    EXPECT_TRUE(places.insert(binding.data).second);
  }
  return ids;
}

TEST(LayerGraphs, BindTheTensorsThatTheyHave) {
  using enum TensorId;
  using Ids = std::set<TensorId>;
  constexpr auto forward = Pass::forward;
  constexpr auto backward = Pass::backward_data;
  EXPECT_EQ(bound("relu", forward, Order::nhwc), (Ids{input, output}));
  EXPECT_EQ(bound("relu", backward, Order::nchw), (Ids{output, input_gradient, output_gradient}));
  EXPECT_EQ(bound("resnet50_pool1", forward, Order::nhwc), (Ids{input, output, places}));
  EXPECT_EQ(bound("resnet50_pool1", backward, Order::nhwc),
            (Ids{input_gradient, output_gradient, places}));
  EXPECT_EQ(bound("resnet50_pool1", forward, Order::nchw), (Ids{input, output}));
  EXPECT_EQ(bound("resnet50_pool1", backward, Order::nchw),
            (Ids{input, output, input_gradient, output_gradient}));
  EXPECT_EQ(bound("average_global", backward, Order::nhwc), (Ids{input_gradient, output_gradient}));
  EXPECT_EQ(bound("batch_norm_late", forward, Order::nhwc),
            (Ids{input, output, scale, shift, mean, inverse_deviation, epsilon}));
  EXPECT_EQ(bound("batch_norm_late", backward, Order::nhwc),
            (Ids{input, scale, mean, inverse_deviation, input_gradient, output_gradient,
                 scale_gradient, shift_gradient}));
}

TEST(LayerGraphs, KeepWhatBackwardReads) {
  const auto state = [](const std::string& layer, Order order) {
    return graph_layer(spec_of(cases().at(layer), DType::bf16, order), order)->state_bytes();
  };
  EXPECT_EQ(state("resnet50_pool1", Order::nhwc), std::size_t{batch} * 64 * 56 * 56);
  EXPECT_EQ(state("resnet50_pool1", Order::nchw), 0U);
  EXPECT_EQ(state("average_global", Order::nhwc), 0U);
  EXPECT_EQ(state("relu", Order::nhwc), 0U);
  EXPECT_EQ(state("batch_norm_17_channels", Order::nhwc), 2U * 256);
}

/// cuDNN's rule of how many windows there are.
std::int64_t windows(std::int64_t input, const Overhang& over, int kernel, int stride) {
  return (input + over.before + over.after - kernel) / stride + 1;
}

TEST(Overhang, GivesCudnnAsManyWindowsAsTheLayerHas) {
  for (int kernel = 1; kernel <= 5; ++kernel) {
    for (int stride = 1; stride <= 4; ++stride) {
      for (int pad = 0; pad < kernel; ++pad) {
        for (int input = kernel; input <= 14; ++input) {
          for (const bool ceil_mode : {false, true}) {
            const Layer layer = make_layer(
                pooling(PoolingKind::max, kernel, stride, pad, ceil_mode), {{3, input, input}});
            const Overhang over = overhang(input, layer.output.height, kernel, stride, pad);
            EXPECT_EQ(windows(input, over, kernel, stride), layer.output.height)
                << kernel << " " << stride << " " << pad << " " << input << " " << ceil_mode;
            EXPECT_EQ(over.before, pad);
            EXPECT_GE(over.after, 0);
            if (!ceil_mode) {
              EXPECT_LE(over.after, pad);
            }
          }
        }
      }
    }
  }
}

TEST(ComputesInF32, WhateverTensorCoresAreUsedFor) {
  const EngineNotes plain{.index = 1, .numerical = {}, .behavior = {}};
  const EngineNotes tensor{
      .index = 2, .numerical = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, .behavior = {}};
  const EngineNotes reducing{
      .index = 3, .numerical = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, .behavior = {}};
  const EngineNotes converting{
      .index = 4, .numerical = {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, .behavior = {}};
  for (const DType dtype : all_dtypes) {
    EXPECT_TRUE(computes_in_f32(plain, dtype));
    EXPECT_TRUE(computes_in_f32(tensor, dtype));
    EXPECT_FALSE(computes_in_f32(reducing, dtype));
  }
  EXPECT_FALSE(computes_in_f32(converting, DType::f32));
}

}  // namespace
}  // namespace dlscale::backend::cuda
