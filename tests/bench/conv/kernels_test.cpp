#include "bench/conv/kernels.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

std::vector<Kernel> all_kernels(const Network& network) {
  const auto passes = parse_passes({"all"});
  const auto layers = parse_layers(network, {"all"});
  return distinct_kernels(network, passes, layers);
}

class KernelsOf : public testing::TestWithParam<const char*> {};

TEST_P(KernelsOf, CoverEveryStepOnceByItsFirstLayer) {
  const Network network = load_network(GetParam());
  std::map<std::pair<std::string, Pass>, LayerId> first;
  std::vector<Step> steps = forward_steps(network);
  for (const Step& step : backward_steps(network)) steps.push_back(step);
  for (const Step& step : steps) {
    const std::pair key(kernel_key(network, step.layer), step.pass);
    const auto place = first.try_emplace(key, step.layer).first;
    if (step.layer < place->second) place->second = step.layer;
  }
  const auto kernels = all_kernels(network);
  EXPECT_EQ(kernels.size(), first.size());
  EXPECT_LT(kernels.size(), steps.size()) << "layers repeat";
  for (const Kernel& kernel : kernels) {
    const std::pair key(kernel.key, kernel.step.pass);
    ASSERT_TRUE(first.contains(key));
    EXPECT_EQ(kernel.step.layer, first.at(key)) << kernel.key;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, KernelsOf, testing::Values("alexnet", "googlenet", "resnet50"));

TEST(Kernels, OfALayerAreThoseItSharesWithEarlierOnes) {
  const Network network = load_network("vgg16");
  // conv3_3 does what conv3_2 does
  const auto layers = parse_layers(network, {"conv3_3"});
  const auto forward = distinct_kernels(network, std::vector{Pass::forward}, layers);
  ASSERT_EQ(forward.size(), 1U);
  EXPECT_EQ(network.layer(forward.front().step.layer).name, "conv3_2");
}

TEST(Kernels, AreLimitedToThePassesAskedFor) {
  const Network network = load_network("alexnet");
  const auto layers = parse_layers(network, {"all"});
  for (const Kernel& kernel :
       distinct_kernels(network, parse_passes({"backward_filter"}), layers)) {
    EXPECT_EQ(kernel.step.pass, Pass::backward_filter);
  }
}

TEST(Layers, AreOneOrMoreNamesOfTheNetwork) {
  const Network network = load_network("alexnet");
  EXPECT_EQ(parse_layers(network, {"conv2", "conv1"}).size(), 2U);
  EXPECT_THROW(parse_layers(network, {"conv1", "conv11"}), ConfigError);
  EXPECT_THROW(parse_layers(network, {"all", "conv1"}), ConfigError);
}

TEST(Layers, AreNamedByTheirKinds) {
  const Network network = load_network("alexnet");
  const auto named = parse_layers(network, {"max_pooling", "conv1"});
  ASSERT_EQ(named.size(), 4U);
  EXPECT_EQ(network.layer(named.front()).name, "conv1");
  EXPECT_EQ(parse_layers(network, {"convolution", "conv1"}).size(), 5U);
  EXPECT_THROW(parse_layers(network, {"batch_norm"}), ConfigError);
}

TEST(Layers, AreNamedByTheirNamesFirst) {
  const Network network("tiny", {3, 8, 8},
                        {{"first", Relu{}, {"input"}},
                         {"relu", Relu{}, {"first"}},
                         {"fc", FullyConnected{.outputs = 3}, {"relu"}},
                         {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const auto named = parse_layers(network, {"relu"});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(network.layer(named.front()).name, "relu");
}

}  // namespace
}  // namespace dlscale::bench
