#include "backend/compute/cuda/cudnn/graph.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backend/compute/cuda/cudnn/graph_convolution.hpp"
#include "backend/compute/cuda/cudnn/plan.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/cuda/described_gpus.hpp"

/// Convolutions as cuDNN gets them, held against what it says of them where there is no device: it
/// answers for a GPU that is only described.
namespace dlscale::backend::cuda {
namespace {

constexpr int batch = 64;

struct Shape {
  int channels;
  int size;
  int outputs;
  int kernel;
  int stride;
  int pad;
  int groups;
};

const std::map<std::string, Shape> shapes{
    {"alexnet_conv1", {3, 224, 64, 11, 4, 2, 1}},
    {"alexnet_conv2", {96, 27, 256, 5, 1, 2, 2}},
    {"vgg16_conv3_2", {256, 56, 256, 3, 1, 1, 1}},
    {"resnet50_1x1", {1024, 14, 256, 1, 1, 0, 1}},
    {"resnet50_3x3_stride2", {256, 28, 256, 3, 2, 1, 1}},
    {"depthwise_3x3", {256, 14, 256, 3, 1, 1, 256}},
};

ConvolutionProblem problem(const std::string& name, DType dtype, Order order) {
  const Shape& shape = shapes.at(name);
  const int output = (shape.size + 2 * shape.pad - shape.kernel) / shape.stride + 1;
  return {.what = name,
          .input = {batch, shape.channels, shape.size, shape.size},
          .weights = {shape.outputs, shape.channels / shape.groups, shape.kernel, shape.kernel},
          .output = {batch, shape.outputs, output, output},
          .stride = shape.stride,
          .pad = shape.pad,
          .groups = shape.groups,
          .bias = true,
          .dtype = dtype,
          .order = order};
}

ConvolutionProblem vgg_in_bf16() {
  return problem("vgg16_conv3_2", DType::bf16, Order::nhwc);
}

/// The form in which every engine for low precision writes the weight gradient.
GraphForm form_for(Pass pass, DType dtype) {
  const bool low = pass == Pass::backward_filter && element_bytes(dtype) < sizeof(float);
  return {.pass = pass, .weight_gradient = low ? GradientPrecision::low : GradientPrecision::f32};
}

class DescribedGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (cudnnGetVersion() < 90800) GTEST_SKIP() << "cuDNN 9.8 and later know described devices";
  }
};
using DescribedGraph = DescribedGpu;
using DescribedPlan = DescribedGpu;
using SettingName = DescribedGpu;
using ConfigurationNamed = DescribedGpu;
using ConfigurationsToTry = DescribedGpu;

std::vector<EngineNotes> take_census(const std::string& gpu, const std::string& shape, Pass pass,
                                     DType dtype, Order order) {
  const Target target = described_target(gpu == "H200" ? h200() : a100());
  return census(Graph(target, problem(shape, dtype, order), form_for(pass, dtype)));
}

std::ptrdiff_t winograd_engines(const std::vector<EngineNotes>& engines) {
  return std::count_if(engines.begin(), engines.end(), [](const EngineNotes& notes) {
    return notes.has(CUDNN_NUMERICAL_NOTE_WINOGRAD);
  });
}

/// Those that keep the precision and are compiled for the shape when a plan is made.
std::ptrdiff_t compiled_engines(const std::vector<EngineNotes>& engines, DType dtype) {
  return std::ranges::count_if(engines, [&](const EngineNotes& notes) {
    return notes.is_compiled() && keeps_precision(notes, dtype);
  });
}

std::vector<std::string> split(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

/// How many engines a described GPU has for a column of the census, "20 7 2 0": those that support
/// the graph, those of them that keep the precision, those of these that are compiled and, where
/// nothing is fused, those of the first by Winograd.
std::string count_engines(const std::string& gpu, ConvolutionProblem asked,
                          const std::string& column) {
  std::optional<GraphForm> form;
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    if (column == pass_name(pass)) form = form_for(pass, asked.dtype);
  }
  const bool fuses = !form.has_value();  // bias, ReLU or both
  if (fuses) {
    asked.bias = column != "relu";
    asked.relu = column != "bias";
    form = {.pass = Pass::forward, .fusion = asked.relu ? Fusion::relu : Fusion::bias};
  }
  const Target target = described_target(gpu == "H200" ? h200() : a100());
  const auto engines = census(Graph(target, asked, *form));
  const auto keeping = std::ranges::count_if(
      engines, [&](const auto& notes) { return keeps_precision(notes, asked.dtype); });
  return fmt::format("{} {} {}{}", engines.size(), keeping, compiled_engines(engines, asked.dtype),
                     fuses ? "" : fmt::format(" {}", winograd_engines(engines)));
}

TEST(EngineCensus, FindsTheEnginesOfThisVersion) {
  const std::size_t version = cudnnGetVersion();
  std::ifstream file(std::filesystem::path(DLSCALE_SOURCE_DIR) / "tests/backend/compute/cuda" /
                     fmt::format("engine_census_{}.{}.{}.csv", version / 10000, version / 100 % 100,
                                 version % 100));
  if (!file) GTEST_SKIP() << "no golden counts for this cuDNN";
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = split(line);
  int lines = 0;
  for (; std::getline(file, line); ++lines) {
    const std::vector<std::string> cells = split(line);
    ASSERT_EQ(cells.size(), columns.size()) << line;
    const ConvolutionProblem asked =
        problem(cells[1], parse_dtype(cells[2]), cells[3] == "nhwc" ? Order::nhwc : Order::nchw);
    for (std::size_t i = 4; i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      EXPECT_EQ(count_engines(cells[0], asked, columns[i]), cells[i]) << line << ", " << columns[i];
    }
  }
  EXPECT_GT(lines, 90);
}

TEST(EngineCensus, FindsNoWinogradOnHopperAndNoFftAnywhere) {
  if (cudnnGetVersion() != 91900) GTEST_SKIP() << "known of cuDNN 9.19.0 only";
  const auto on = [](const std::string& gpu) {
    return take_census(gpu, "vgg16_conv3_2", Pass::forward, DType::f32, Order::nchw);
  };
  EXPECT_GT(winograd_engines(on("A100")), 0);
  EXPECT_EQ(winograd_engines(on("H200")), 0);
  for (const std::string gpu : {"A100", "H200"}) {
    for (const EngineNotes& notes : on(gpu)) EXPECT_FALSE(notes.has(CUDNN_NUMERICAL_NOTE_FFT));
  }
}

TEST_F(DescribedGraph, HasAnEngineForEveryPassPrecisionAndOrder) {
  for (const auto& [name, shape] : shapes) {
    for (const DType dtype : all_dtypes) {
      for (const Order order : {Order::nchw, Order::nhwc}) {
        for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
          const auto engines = take_census("H200", name, pass, dtype, order);
          EXPECT_TRUE(std::any_of(engines.begin(), engines.end(),
                                  [&](const EngineNotes& notes) {
                                    return keeps_precision(notes, dtype) &&
                                           !notes.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
                                  }))
              << name << " " << dtype_name(dtype) << " " << pass_name(pass);
        }
      }
    }
  }
}

TEST_F(DescribedGraph, IsRefusedWhereTheShapesDisagree) {
  ConvolutionProblem wrong = problem("vgg16_conv3_2", DType::f32, Order::nhwc);
  wrong.output[2] += 1;
  EXPECT_THROW(Graph(described_target(h200()), wrong, {}), Error);
}

TEST_F(DescribedGraph, IsRecommendedEnginesWithDifferentSettings) {
  const Graph graph(described_target(h200()), vgg_in_bf16(), {});
  std::vector<std::string> words;
  for (const Descriptor& configuration : recommended(graph)) {
    words.push_back(fmt::format("{} {}", to_string(notes_of(engine_of(configuration))),
                                knobs_of(configuration)));
  }
  EXPECT_GE(words.size(), 3U);
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

TEST_F(DescribedPlan, IsNamedByItsEngineItsKnobsAndItsNotes) {
  const auto graph =
      std::make_shared<const Graph>(described_target(h200()), vgg_in_bf16(), GraphForm{});
  std::optional<Plan> plan;
  for (Descriptor& configuration : recommended(*graph)) {
    try {
      plan.emplace(graph, std::make_shared<const Descriptor>(std::move(configuration)));
      break;
    } catch (const Unsupported&) {  // engines that are compiled for the shape need a driver
    }
  }
  if (!plan) GTEST_SKIP() << "this cuDNN makes no plan without a driver";
  EXPECT_EQ(plan->name().find("cudnn 9."), 0U) << plan->name();
  EXPECT_NE(plan->name().find(fmt::format(" eng{} ", plan->notes().index)), std::string::npos);
  EXPECT_NE(plan->name().find("[TENSOR_CORE"), std::string::npos) << plan->name();
  EXPECT_NE(plan->name().find(" ws="), std::string::npos) << plan->name();
}

TEST_F(DescribedPlan, IsNotMadeFromWordsThatAreNone) {
  const auto graph =
      std::make_shared<const Graph>(described_target(h200()), vgg_in_bf16(), GraphForm{});
  const auto configuration =
      std::make_shared<const Descriptor>(std::move(recommended(*graph).front()));
  for (const std::string text : {"{", "{}", "no plan"}) {
    EXPECT_THROW(Plan(graph, configuration, text), Error) << text;
  }
}

TEST_F(SettingName, TellsThePlansForAPassApart) {
  std::vector<std::string> names;
  for (const Fusion fusion : {Fusion::none, Fusion::bias}) {
    const Graph graph(described_target(h200()), vgg_in_bf16(),
                      {.pass = Pass::forward, .fusion = fusion});
    for (const Descriptor& each : recommended(graph)) {
      names.push_back(setting_name(each, graph.form()));
    }
  }
  EXPECT_GE(names.size(), 4U);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

/// What recall makes of a name, without asking the heuristics that recommended it.
TEST_F(ConfigurationNamed, IsTheOneThatHadTheName) {
  const ConvolutionProblem asked = vgg_in_bf16();
  for (const Pass pass : {Pass::forward, Pass::backward_filter}) {
    for (const GraphForm& form : forms_of(asked, pass)) {
      const Graph graph(described_target(h200()), asked, form);
      for (const Descriptor& each : configurations_to_try(graph, asked.dtype)) {
        const std::string name = setting_name(each, form);
        const auto again = configuration_named(graph, name);
        ASSERT_TRUE(again) << name;
        EXPECT_EQ(setting_name(*again, form), name);
      }
    }
  }
}

TEST_F(ConfigurationNamed, IsNoneForOtherNames) {
  const Graph graph(described_target(h200()), vgg_in_bf16(), {});
  const std::string good = setting_name(recommended(graph).front(), graph.form());
  ASSERT_TRUE(configuration_named(graph, good));
  for (const std::string& name :
       {std::string(), std::string("own winograd"), std::string("eng"), std::string("eng1x"),
        std::string("eng-1"), std::string("eng999999"), good + " k2", good + " k2=x",
        good + " kx=1", good + " fused-bias"}) {
    EXPECT_FALSE(configuration_named(graph, name)) << name;
  }
}

TEST(FormNamed, IsTheOneWithTheMostOfTheWords) {
  ConvolutionProblem asked = vgg_in_bf16();
  const auto forward = forms_of(asked, Pass::forward);
  EXPECT_EQ(form_named(forward, "eng1 k2=3")->fusion, Fusion::none);
  EXPECT_EQ(form_named(forward, "eng1 k2=3 fused-bias")->fusion, Fusion::bias);
  const auto filter = forms_of(asked, Pass::backward_filter);
  EXPECT_EQ(form_named(filter, "eng1 ")->weight_gradient, GradientPrecision::f32);
  EXPECT_EQ(form_named(filter, "eng1  low-gradient")->weight_gradient, GradientPrecision::low);
  EXPECT_FALSE(form_named({}, "eng1"));
}

/// Each of these takes a second to compile, and a network has dozens of shapes.
TEST_F(ConfigurationsToTry, AreAllThatAreReadyAndFewThatAreCompiled) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
      const Graph graph(described_target(h200()), problem("resnet50_1x1", dtype, Order::nhwc),
                        form_for(pass, dtype));
      std::size_t compiled = 0;
      std::set<std::int64_t> ready;
      for (const Descriptor& each : configurations_to_try(graph, dtype)) {
        const EngineNotes notes = notes_of(engine_of(each));
        EXPECT_TRUE(keeps_precision(notes, dtype) && notes.is_deterministic()) << to_string(notes);
        compiled += notes.is_compiled() ? 1 : 0;
        if (!notes.is_compiled()) ready.insert(notes.index);
      }
      EXPECT_LE(compiled, most_compiled) << pass_name(pass) << " in " << dtype_name(dtype);
      for (const EngineNotes& notes : census(graph)) {
        const bool good = keeps_precision(notes, dtype) && notes.is_deterministic();
        if (!good || notes.is_compiled()) continue;
        const bool set = default_configuration(graph, *engine(graph, notes.index)).has_value();
        EXPECT_TRUE(!set || ready.contains(notes.index)) << to_string(notes);
      }
    }
  }
}

TEST(Precision, IsKeptByEnginesThatDoNotRound) {
  const EngineNotes plain{.index = 1, .numerical = {}, .behavior = {}};
  const EngineNotes tensor{
      .index = 2, .numerical = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, .behavior = {}};
  const EngineNotes converting{
      .index = 3,
      .numerical = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
      .behavior = {}};
  const EngineNotes reducing{
      .index = 4, .numerical = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}, .behavior = {}};
  for (const DType dtype : all_dtypes) {
    EXPECT_TRUE(keeps_precision(plain, dtype));
    EXPECT_FALSE(keeps_precision(reducing, dtype));
    EXPECT_EQ(keeps_precision(tensor, dtype), dtype != DType::f32);
  }
  EXPECT_FALSE(keeps_precision(converting, DType::f32));
  EXPECT_FALSE(keeps_precision(converting, DType::tf32));
}

TEST(Key, TellsProblemsApartThatNeedOtherPlans) {
  const ConvolutionProblem one = vgg_in_bf16();
  ConvolutionProblem same = one;
  same.what = "another layer";
  EXPECT_EQ(key_of(one), key_of(same));
  EXPECT_NE(key_of(one), key_of(problem("vgg16_conv3_2", DType::f16, Order::nhwc)));
  EXPECT_NE(key_of(one), key_of(problem("vgg16_conv3_2", DType::bf16, Order::nchw)));
  ConvolutionProblem without_bias = one;
  without_bias.bias = false;
  EXPECT_NE(key_of(one), key_of(without_bias));
  ConvolutionProblem with_relu = one;
  with_relu.relu = true;
  EXPECT_NE(key_of(one), key_of(with_relu));
}

}  // namespace
}  // namespace dlscale::backend::cuda
