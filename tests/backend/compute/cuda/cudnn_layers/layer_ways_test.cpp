#include "backend/compute/cuda/cudnn_layers/layer_ways.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "backend/compute/cuda/cudnn_layers/functions.hpp"
#include "backend/compute/cuda/cudnn_layers/layer_key.hpp"
#include "backend/compute/cuda/layout.hpp"
#include "core/error.hpp"
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

std::unique_ptr<Operation> refuse() {
  throw Unsupported("ours is not for sale");
}

TEST(LayerWays, AreNoneForKindsThatAreAlwaysOurs) {
  const Context context;
  for (const LayerKind& kind : {LayerKind(Dropout{}), LayerKind(FullyConnected{.outputs = 3})}) {
    const OperationSpec spec = spec_of(kind, {8, 4, 4});
    EXPECT_TRUE(layer_algorithms(context, spec, Pass::forward, refuse).empty());
    EXPECT_THROW(static_cast<void>(make_fastest(context, spec, refuse)), Unsupported);
  }
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
