#include "backend/compute/cuda/cudnn_layers/layer_choice.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_operation.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/layers.hpp"

/// What is decided before a device is asked.
namespace dlscale::backend::cuda {
namespace {

OperationSpec spec_of(const LayerKind& kind, const ImageShape& input, DType dtype = DType::f32,
                      int batch = 4) {
  const Layer layer = make_layer(kind, {input});
  const auto& [channels, height, width] = input;
  return {layer, batch, dtype, {tensor_desc({batch, channels, height, width}, dtype, Order::nhwc)}};
}

const std::string not_ours = "ours is not for sale";

std::unique_ptr<Operation> refuse() {
  throw Unsupported(not_ours);
}

/// Of the Unsupported that `call` throws; empty if it throws none.
template <class Call>
std::string words_of(const Call& call) {
  try {
    call();
  } catch (const Unsupported& refusal) {
    return refusal.what();
  }
  return "";
}

TEST(LayerWays, AreNoneForKindsThatAreAlwaysOurs) {
  const Context context;
  for (const LayerKind& kind : {LayerKind(Dropout{}), LayerKind(FullyConnected{.outputs = 3})}) {
    const OperationSpec spec = spec_of(kind, {8, 4, 4});
    EXPECT_TRUE(layer_algorithms(context, spec, Pass::forward, refuse).empty());
    EXPECT_THROW(static_cast<void>(make_fastest(context, spec, refuse)), Unsupported);
  }
}

/// The context has nothing to try them with.
TEST(LayerWays, AreNotTriedForMaxPoolingAndRelu) {
  const Context context;
  const Pooling max{.kind = PoolingKind::max, .kernel_h = 2, .kernel_w = 2, .stride = 2};
  for (const LayerKind& kind : {LayerKind(max), LayerKind(Relu{})}) {
    const OperationSpec spec = spec_of(kind, {8, 4, 4});
    EXPECT_EQ(words_of([&] { static_cast<void>(make_fastest(context, spec, refuse)); }), not_ours);
    EXPECT_GE(layer_algorithms(context, spec, Pass::forward, refuse).size(), 2U);
  }
}

/// A layer that cuDNN calls wrong, rather than one that it has not.
OperationSpec wrong_spec() {
  OperationSpec spec = spec_of(BatchNorm{}, {8, 4, 4});
  spec.layer.output.channels = -8;
  spec.inputs.front().dims[1] = -8;
  return spec;
}

TEST(LayerWays, AreOursWhereCudnnFailsByAnyCode) {
  const OperationSpec spec = wrong_spec();
  const auto graph = [&] {
    static_cast<void>(graph_layer(spec, Order::nhwc)->graph({}, Pass::forward));
  };
  ASSERT_THROW(graph(), LibraryError);
  Choices choices;
  const Context context{.choices = &choices};
  EXPECT_EQ(words_of([&] { static_cast<void>(make_fastest(context, spec, refuse)); }), not_ours);
}

TEST(LayerWays, SayWhyCudnnFails) {
  const Context context;
  const auto ways = layer_algorithms(context, wrong_spec(), Pass::forward, refuse);
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(ways[1].name, "graph");
  EXPECT_NE(words_of([&] { static_cast<void>(ways[1].create()); }).find("CUDNN_STATUS"),
            std::string::npos);
}

TEST(Offered, TurnsFailuresIntoRefusals) {
  EXPECT_EQ(offered([] { return 3; }), 3);
  const auto fail = []() -> int { throw LibraryError("it broke"); };
  const auto lack_memory = []() -> int { throw ConfigError("no room"); };
  EXPECT_EQ(words_of([&] { offered(fail); }), "it broke");
  EXPECT_EQ(words_of([&] { offered(lack_memory); }), "no room");
  EXPECT_EQ(words_of([&] { offered(refuse); }), not_ours);
}

TEST(LayerPlans, AreRefusedForSettingsThatAreNotDeterministic) {
  Choices choices;
  const Context context{.choices = &choices};
  const Setting setting{
      {.index = 7, .numerical = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, .behavior = {}}, "", {}};
  const std::string why = words_of([&] {
    static_cast<void>(
        layer_plan(context, spec_of(BatchNorm{}, {8, 4, 4}), Pass::backward_data, {}, setting));
  });
  EXPECT_NE(why.find("eng7 [NONDETERMINISTIC] may answer otherwise"), std::string::npos) << why;
}

TEST(LayerWays, AreNoneForPassesThatLayersDoNotHave) {
  const Context context;
  for (const Pass pass : {Pass::backward_filter, Pass::accumulate}) {
    EXPECT_TRUE(layer_algorithms(context, spec_of(Relu{}, {8, 4, 4}), pass, refuse).empty());
  }
}

TEST(LayerWays, HaveAFunctionForTheLossAndForLrn) {
  EXPECT_TRUE(has_function(SoftmaxCrossEntropy{}));
  EXPECT_TRUE(has_function(Lrn{}));
  EXPECT_FALSE(has_function(Relu{}));
  const Context context;
  const auto ways = layer_algorithms(context, spec_of(Lrn{}, {8, 4, 4}), Pass::forward, refuse);
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_EQ(ways[0].name, "own");
  EXPECT_EQ(ways[1].name, "cudnn function");
}

TEST(LayerWays, AreRefusedForAnLrnThatCudnnHasNot) {
  const Context context;
  for (const Lrn& kind : {Lrn{.size = 17}, Lrn{.size = 5, .alpha = 1, .beta = 0.001}}) {
    EXPECT_THROW(static_cast<void>(make_cudnn_lrn(context, spec_of(kind, {32, 4, 4}), kind)),
                 Unsupported);
  }
}

TEST(LayerKey, TellsLayersApartThatDoOtherWork) {
  const Pooling max{.kind = PoolingKind::max, .kernel_h = 2, .kernel_w = 2, .stride = 2};
  Pooling average = max;
  average.kind = PoolingKind::average;
  Pooling wide = max;
  wide.kernel_w = 3;
  const ImageShape image{8, 9, 9};
  const std::set<std::string> keys{
      layer_key(spec_of(max, image), Order::nhwc),
      layer_key(spec_of(average, image), Order::nhwc),
      layer_key(spec_of(wide, image), Order::nhwc),
      layer_key(spec_of(max, {8, 9, 10}), Order::nhwc),
      layer_key(spec_of(max, image, DType::bf16), Order::nhwc),
      layer_key(spec_of(max, image, DType::tf32), Order::nhwc),
      layer_key(spec_of(max, image, DType::f32, 5), Order::nhwc),
      layer_key(spec_of(max, image), Order::nchw),
      layer_key(spec_of(BatchNorm{}, image), Order::nhwc),
      layer_key(spec_of(BatchNorm{.epsilon = 0.5}, image), Order::nhwc),
      layer_key(spec_of(Lrn{}, image), Order::nhwc),
      layer_key(spec_of(Lrn{.size = 3}, image), Order::nhwc),
  };
  EXPECT_EQ(keys.size(), 12U);
  OperationSpec renamed = spec_of(max, image);
  renamed.layer.name = "another";
  EXPECT_TRUE(keys.contains(layer_key(renamed, Order::nhwc)));
}

}  // namespace
}  // namespace dlscale::backend::cuda
