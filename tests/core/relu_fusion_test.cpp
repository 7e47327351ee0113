#include "core/network/relu_fusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "tests/core/configured_networks.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using Names = std::vector<std::string>;

const Convolution conv{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};

Network make_network(std::vector<Network::Node> nodes) {
  const std::string last = nodes.back().name;
  nodes.push_back({"fc", FullyConnected{10}, {last}});
  nodes.push_back({"loss", SoftmaxCrossEntropy{}, {"fc"}});
  return {"test", {4, 8, 8}, nodes};
}

const Layer& find(const Network& network, std::string_view name) {
  const auto found = std::ranges::find(network.layers(), name, &Layer::name);
  EXPECT_NE(found, network.layers().end()) << name;
  return *found;
}

bool has(const Network& network, std::string_view name) {
  return std::ranges::find(network.layers(), name, &Layer::name) != network.layers().end();
}

Names inputs_of(const Network& network, std::string_view name) {
  Names names;
  for (const LayerId input : find(network, name).inputs) {
    names.push_back(network.layer(input).name);
  }
  return names;
}

Names steps_of(const Network& network) {
  Names names;
  for (const Step& step : backward_steps(network)) {
    names.push_back(network.layer(step.layer).name + " " + std::string(pass_name(step.pass)));
  }
  return names;
}

TEST(FuseRelu, MakesAReluPartOfWhatComesBeforeIt) {
  for (const LayerKind& kind : std::vector<LayerKind>{conv, BatchNorm{}}) {
    const Network network = make_network(
        {{"first", conv, {"input"}}, {"it", kind, {"first"}}, {"relu", Relu{}, {"it"}}});
    const Network fused = fuse_relu(network);
    EXPECT_FALSE(has(fused, "relu"));
    EXPECT_TRUE(find(fused, "it").relu);
    EXPECT_FALSE(find(fused, "first").relu);
    EXPECT_EQ(inputs_of(fused, "fc"), Names{"it"});
    EXPECT_EQ(fused.name(), network.name());
    EXPECT_EQ(fused.parameter_count(), network.parameter_count());
    EXPECT_EQ(fused.forward_macs(), network.forward_macs());
  }
}

TEST(FuseRelu, LetsEveryReaderOfTheReluReadItsProducer) {
  const Network fused = fuse_relu(make_network({{"a", conv, {"input"}},
                                                {"a_relu", Relu{}, {"a"}},
                                                {"b", conv, {"a_relu"}},
                                                {"add", Sum{}, {"b", "a_relu"}},
                                                {"add_relu", Relu{}, {"add"}}}));
  EXPECT_EQ(inputs_of(fused, "b"), Names{"a"});
  EXPECT_EQ(inputs_of(fused, "add"), (Names{"b", "a"}));
  EXPECT_EQ(inputs_of(fused, "fc"), Names{"add"});
  EXPECT_TRUE(find(fused, "a").relu && find(fused, "add").relu);
  EXPECT_FALSE(find(fused, "b").relu);
  EXPECT_EQ(fused.consumers(find(fused, "a").id).size(), 2U);
}

TEST(FuseRelu, LeavesAReluWhoseInputIsReadByOthersToo) {
  const Network network = make_network(
      {{"a", conv, {"input"}}, {"relu", Relu{}, {"a"}}, {"add", Sum{}, {"a", "relu"}}});
  EXPECT_EQ(fingerprint(fuse_relu(network)), fingerprint(network));
  const Network two = make_network({{"a", conv, {"input"}},
                                    {"relu1", Relu{}, {"a"}},
                                    {"relu2", Relu{}, {"a"}},
                                    {"add", Sum{}, {"relu1", "relu2"}}});
  EXPECT_EQ(fingerprint(fuse_relu(two)), fingerprint(two));
}

TEST(FuseRelu, LeavesAReluAfterWhatTakesNoneIn) {
  const Network network = make_network({{"pool", Pooling{PoolingKind::max, 2, 2, 2}, {"input"}},
                                        {"relu1", Relu{}, {"pool"}},
                                        {"fc1", FullyConnected{5}, {"relu1"}},
                                        {"relu2", Relu{}, {"fc1"}}});
  EXPECT_EQ(fingerprint(fuse_relu(network)), fingerprint(network));
  const Network at_once = make_network({{"relu", Relu{}, {"input"}}});
  EXPECT_EQ(fingerprint(fuse_relu(at_once)), fingerprint(at_once));
}

TEST(FuseRelu, DoesNothingASecondTime) {
  const Network chain = make_network(
      {{"a", conv, {"input"}}, {"relu1", Relu{}, {"a"}}, {"relu2", Relu{}, {"relu1"}}});
  const Network once = fuse_relu(chain);
  EXPECT_EQ(inputs_of(once, "relu2"), Names{"a"});
  for (const Network& network : {once, fuse_relu(load_network("resnet50"))}) {
    EXPECT_EQ(fingerprint(fuse_relu(network)), fingerprint(network));
  }
}

struct Count {
  const char* network;
  std::size_t fused;
  std::size_t left;  ///< ReLUs after fully connected layers
};

TEST(FuseRelu, TakesInTheRelusOfThePublishedNetworks) {
  for (const auto& [name, fused, left] :
       {Count{"alexnet", 5, 2}, Count{"alexnet_owt", 5, 2}, Count{"vgg16", 13, 2},
        Count{"vgg19", 16, 2}, Count{"googlenet", 59, 2}, Count{"resnet50", 33 + 16, 0},
        Count{"resnet50_v1.5", 33 + 16, 0}}) {
    const Network network = load_network(name);
    const Network after = fuse_relu(network);
    EXPECT_EQ(after.layers().size(), network.layers().size() - fused) << name;
    const auto& layers = after.layers();
    EXPECT_EQ(std::ranges::count(layers, true, &Layer::relu), static_cast<std::ptrdiff_t>(fused))
        << name;
    EXPECT_EQ(std::ranges::count_if(
                  layers, [](const Layer& l) { return std::holds_alternative<Relu>(l.kind); }),
              static_cast<std::ptrdiff_t>(left))
        << name;
  }
}

TEST(FuseRelu, KeepsGradientBucketsAsTheyAre) {
  for (const Network& network : test::configured_networks()) {
    const Network fused = fuse_relu(network);
    for (const Schedule schedule : {Schedule::wait_free, Schedule::bucketed}) {
      const auto before = gradient_buckets(network, schedule);
      const auto after = gradient_buckets(fused, schedule);
      ASSERT_EQ(before.size(), after.size());
      for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(before[i].elements, after[i].elements) << network.name();
      }
    }
  }
}

TEST(FusedSteps, SumMasksTheGradientOnceForAllItsInputs) {
  const Network fused = fuse_relu(make_network({{"a", conv, {"input"}},
                                                {"b", conv, {"a"}},
                                                {"add", Sum{}, {"b", "a"}},
                                                {"relu", Relu{}, {"add"}}}));
  EXPECT_EQ(steps_of(fused), (Names{"loss backward_data", "fc backward_filter", "fc backward_data",
                                    "add backward_data", "b backward_filter", "b backward_data",
                                    "a accumulate", "a backward_filter"}));
}

TEST(FusedSteps, SumWithoutParametersBeforeItHasNone) {
  const Network fused =
      fuse_relu(make_network({{"pool", Pooling{PoolingKind::max, 1, 1, 1}, {"input"}},
                              {"add", Sum{}, {"pool", "input"}},
                              {"relu", Relu{}, {"add"}}}));
  EXPECT_TRUE(find(fused, "add").relu);
  EXPECT_EQ(steps_of(fused), (Names{"loss backward_data", "fc backward_filter"}));
}

TEST(FusedKernelKey, SaysThatThereIsARelu) {
  const Network fused = fuse_relu(load_network("resnet50"));
  EXPECT_EQ(kernel_key(fused, find(fused, "bn_conv1").id), "batch_norm c64 h112 w112 relu");
  EXPECT_EQ(kernel_key(fused, find(fused, "res2a_add").id),
            "sum c256 h56 w56 inputs2 relu consumers2");
  EXPECT_EQ(kernel_key(fused, find(fused, "bn2a_branch2c").id), "batch_norm c256 h56 w56");
}

/// fused, and the same with the ReLU apart.
struct Works {
  Work fused;
  Work layer;
  Work relu;
};

Works works_of(const LayerKind& kind, std::vector<std::string> inputs, Pass pass, Pass relu_pass) {
  const Network apart = make_network({{"a", conv, {"input"}},
                                      {"b", conv, {"a"}},
                                      {"it", kind, std::move(inputs)},
                                      {"relu", Relu{}, {"it"}}});
  const Network fused = fuse_relu(apart);
  const auto of = [](const Network& network, std::string_view name, Pass which) {
    return work(network, {find(network, name).id, which}, 2, DType::f32);
  };
  const bool exists = pass == Pass::forward || !std::holds_alternative<Sum>(kind);
  return {of(fused, "it", pass), exists ? of(apart, "it", pass) : Work{},
          of(apart, "relu", relu_pass)};
}

TEST(FusedWork, ForwardMovesWhatItMovesWithoutTheRelu) {
  for (const LayerKind& kind : std::vector<LayerKind>{conv, BatchNorm{}}) {
    const Works works = works_of(kind, {"b"}, Pass::forward, Pass::forward);
    EXPECT_EQ(works.fused.bytes, works.layer.bytes);
  }
  const Works sum = works_of(Sum{}, {"a", "b"}, Pass::forward, Pass::forward);
  EXPECT_EQ(sum.fused.bytes, sum.layer.bytes);
  EXPECT_EQ(sum.fused.flops, sum.layer.flops + sum.relu.flops);
}

TEST(FusedWork, BackwardOfASumIsThatOfTheRelu) {
  const Works sum = works_of(Sum{}, {"a", "b"}, Pass::backward_data, Pass::backward_data);
  EXPECT_EQ(sum.fused.bytes, sum.relu.bytes);
  EXPECT_EQ(sum.fused.flops, sum.relu.flops);
}

TEST(FusedWork, BackwardFilterReadsTheOutputAndWritesWhatIsLetThrough) {
  constexpr double n = 2 * 4 * 64;
  const Works filter = works_of(conv, {"b"}, Pass::backward_filter, Pass::backward_data);
  EXPECT_EQ(filter.fused.bytes.si(), filter.layer.bytes.si() + 4 * 2 * n);
  const Works data = works_of(conv, {"b"}, Pass::backward_data, Pass::backward_data);
  EXPECT_EQ(data.fused.bytes, data.layer.bytes);
  const Works norm = works_of(BatchNorm{}, {"b"}, Pass::backward_data, Pass::backward_data);
  EXPECT_EQ(norm.fused.bytes, norm.layer.bytes);
  EXPECT_EQ(norm.fused.flops.si(), norm.layer.flops.si() + n);
}

TEST(FusedNode, OfAKindThatTakesNoneInIsRefused) {
  const std::string message = test::config_error([] {
    (void)make_network(
        {{"a", conv, {"input"}}, {"pool", Pooling{PoolingKind::max, 2, 2, 2}, {"a"}, true}});
  });
  test::expect_contains(message, "\"pool\" is a max_pooling with a ReLU of its own");
  test::expect_contains(message, "make the ReLU a layer");
}

TEST(Fusion, IsNamedAndRead) {
  EXPECT_TRUE(parse_fusion("relu"));
  EXPECT_FALSE(parse_fusion("none"));
  test::expect_contains(test::config_error([] { (void)parse_fusion("ReLU"); }),
                        "the fusion is \"ReLU\" (neither relu nor none)");
  dlscale::Run run;
  EXPECT_EQ(fusion_name(run), "none");
  run.fuse_relu = true;
  EXPECT_EQ(fusion_name(run), "relu");
  const Network network = make_network({{"a", conv, {"input"}}, {"relu", Relu{}, {"a"}}});
  EXPECT_TRUE(has(as_run(network, dlscale::Run{}), "relu"));
  EXPECT_FALSE(has(as_run(network, run), "relu"));
}

}  // namespace
}  // namespace dlscale
