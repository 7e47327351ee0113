#include "core/network/step.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dlscale {
namespace {

using Names = std::vector<std::string>;

Names named(const Network& network, const std::vector<Step>& steps) {
  Names names;
  for (const Step& step : steps) {
    names.push_back(network.layer(step.layer).name + " " + std::string(pass_name(step.pass)));
  }
  return names;
}

Network step_make_network(const std::vector<Network::Node>& nodes) {
  return Network("test", {3, 8, 8}, nodes);
}

const Convolution three_by_three{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};

TEST(Steps, ChainRunsForwardAndBack) {
  const Network network = step_make_network({{"conv", three_by_three, {"input"}},
                                             {"relu", Relu{}, {"conv"}},
                                             {"fc", FullyConnected{10}, {"relu"}},
                                             {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  EXPECT_EQ(named(network, forward_steps(network)),
            (Names{"conv forward", "relu forward", "fc forward", "loss forward"}));
  EXPECT_EQ(named(network, backward_steps(network)),
            (Names{"loss backward_data", "fc backward_filter", "fc backward_data",
                   "relu backward_data", "conv backward_filter"}));
}

TEST(Steps, ResidualBlockAccumulatesWhereItSplits) {
  const Network network = step_make_network({{"conv", three_by_three, {"input"}},
                                             {"branch", three_by_three, {"conv"}},
                                             {"add", Sum{}, {"conv", "branch"}},
                                             {"fc", FullyConnected{10}, {"add"}},
                                             {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  EXPECT_EQ(named(network, backward_steps(network)),
            (Names{"loss backward_data", "fc backward_filter", "fc backward_data",
                   "branch backward_filter", "branch backward_data", "conv accumulate",
                   "conv backward_filter"}));
}

TEST(Steps, GradientsThatReachNoParametersAreNotMade) {
  const Network network =
      step_make_network({{"pool", Pooling{PoolingKind::max, 2, 2, 2}, {"input"}},
                         {"a", three_by_three, {"pool"}},
                         {"b", three_by_three, {"pool"}},
                         {"both", Concat{}, {"a", "b"}},
                         {"fc", FullyConnected{10}, {"both"}},
                         {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  EXPECT_EQ(named(network, backward_steps(network)),
            (Names{"loss backward_data", "fc backward_filter", "fc backward_data",
                   "both backward_data", "b backward_filter", "a backward_filter"}));
}

TEST(Steps, BatchNormOnTheInputStillMakesItsParameterGradients) {
  const Network network = step_make_network({{"norm", BatchNorm{}, {"input"}},
                                             {"fc", FullyConnected{10}, {"norm"}},
                                             {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  EXPECT_EQ(named(network, backward_steps(network)).back(), "norm backward_data");
}

class ConfiguredNetwork : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Names, ConfiguredNetwork,
                         testing::Values("alexnet", "vgg16", "googlenet", "resnet50"));

TEST_P(ConfiguredNetwork, EveryGradientIsThereBeforeItIsRead) {
  const Network network = load_network(GetParam());
  std::map<std::size_t, std::size_t> returned;  // by layer: gradients its consumers have returned
  std::set<std::size_t> accumulated;
  const auto hand_on = [&](const Layer& layer) {
    for (const LayerId input : layer.inputs) ++returned[input.index()];
  };
  const std::vector<Step> steps = backward_steps(network);
  std::size_t next = 0;
  for (auto layer = network.layers().rbegin(); layer != network.layers().rend(); ++layer) {
    const std::size_t id = layer->id.index();
    for (; next < steps.size() && steps[next].layer == layer->id; ++next) {
      EXPECT_EQ(returned[id], network.consumers(layer->id).size()) << layer->name;
      if (steps[next].pass == Pass::accumulate) accumulated.insert(id);
      EXPECT_TRUE(network.consumers(layer->id).size() < 2 || accumulated.contains(id));
      if (steps[next].pass == Pass::backward_data) hand_on(*layer);
    }
    if (std::holds_alternative<Sum>(layer->kind)) hand_on(*layer);
  }
  EXPECT_EQ(next, steps.size());
}

TEST_P(ConfiguredNetwork, BucketsHoldEveryParameterOnceInBackwardOrder) {
  const Network network = load_network(GetParam());
  for (const Schedule schedule : all_schedules) {
    std::int64_t elements = 0;
    std::size_t last = network.layers().size();
    for (const Bucket& bucket : gradient_buckets(network, schedule)) {
      std::int64_t in_bucket = 0;
      for (const LayerId layer : bucket.layers) {
        EXPECT_LT(layer.index(), last);
        last = layer.index();
        in_bucket += network.layer(layer).parameter_count();
      }
      EXPECT_EQ(bucket.elements, in_bucket);
      elements += in_bucket;
    }
    EXPECT_EQ(elements, network.parameter_count());
  }
}

TEST_P(ConfiguredNetwork, EveryStepHasWork) {
  const Network network = load_network(GetParam());
  Flops forward;
  for (const Step& step : forward_steps(network)) {
    const Work one = work(network, step, 1, DType::f32);
    const Work four = work(network, step, 4, DType::f32);
    EXPECT_GT(one.bytes.si(), 0);
    EXPECT_NEAR(four.flops.si(), 4 * one.flops.si(), 1e-9 * four.flops.si());
    if (network.layer(step.layer).forward_macs() > 0) forward += one.flops;
  }
  EXPECT_DOUBLE_EQ(forward.si(), 2.0 * static_cast<double>(network.forward_macs()));
  for (const Step& step : backward_steps(network)) {
    EXPECT_GT(work(network, step, 1, DType::bf16).bytes.si(), 0);
    EXPECT_LT(work(network, step, 1, DType::bf16).bytes, work(network, step, 1, DType::f32).bytes);
  }
}

TEST(Buckets, CloseWhenTheyReachTheirLimit) {
  // In elements of 4 bytes: 262144 are 1 MiB, 6553600 are 25 MiB.
  const auto layer = [](const std::string& name, int outputs, const std::string& from) {
    return Network::Node{name, FullyConnected{outputs, false}, {from}};
  };
  // 8 × 8 × 3 = 192 inputs. Backward order: d (512·10), c (512²=262144), b (512·12800), a.
  const Network network = step_make_network({layer("a", 12800, "input"),
                                             layer("b", 512, "a"),
                                             layer("c", 512, "b"),
                                             layer("d", 10, "c"),
                                             {"loss", SoftmaxCrossEntropy{}, {"d"}}});
  const std::vector<Bucket> buckets = gradient_buckets(network, Schedule::bucketed);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].layers, (std::vector<LayerId>{LayerId(4), LayerId(3)}));  // over 1 MiB
  EXPECT_EQ(buckets[1].layers, (std::vector<LayerId>{LayerId(2)}));  // exactly 25 MiB closes
  EXPECT_EQ(buckets[2].layers, (std::vector<LayerId>{LayerId(1)}));
  EXPECT_EQ(gradient_buckets(network, Schedule::wait_free).size(), 4U);
}

TEST(Buckets, ResNet50MakesTheNumberPyTorchMakes) {
  // 102 MB in a bucket of 1 MiB and then 25 MiB: fc alone (8.2 MB) closes the first.
  const auto buckets = gradient_buckets(load_network("resnet50"), Schedule::bucketed);
  EXPECT_EQ(buckets.front().layers.size(), 1U);
  EXPECT_EQ(buckets.front().elements, 2049000);
  EXPECT_EQ(buckets.size(), 5U);
}

/// A network of one layer between a convolution and a loss, so that it has every pass.
Network around(const LayerKind& kind) {
  return step_make_network({{"conv", three_by_three, {"input"}},
                            {"it", kind, {"conv"}},
                            {"fc", FullyConnected{10}, {"it"}},
                            {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
}

Work work_of(const LayerKind& kind, Pass pass, DType dtype = DType::f32) {
  return work(around(kind), {LayerId(2), pass}, 2, dtype);
}

TEST(Work, ConvolutionCountsTwoPerMultiplyAddInEachPass) {
  constexpr double n = 2 * 4 * 64;  // elements in and out: batch 2, 4 × 8 × 8
  constexpr double weights = 4 * 4 * 9;
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    EXPECT_EQ(work_of(three_by_three, pass).flops.si(), 2 * weights * 64 * 2);
  }
  EXPECT_EQ(work_of(three_by_three, Pass::forward).bytes.si(), 4 * (2 * n + weights + 4));
  EXPECT_EQ(work_of(three_by_three, Pass::backward_data).bytes.si(), 4 * (2 * n + weights));
  EXPECT_EQ(work_of(three_by_three, Pass::backward_filter).bytes.si(), 4 * (2 * n + weights + 4));
}

TEST(Work, LowPrecisionHalvesAllButWeightGradientsAndBiases) {
  constexpr double n = 2 * 4 * 64;
  constexpr double weights = 4 * 4 * 9;
  EXPECT_EQ(work_of(three_by_three, Pass::forward, DType::bf16).bytes.si(),
            2 * (2 * n + weights) + 4 * 4);
  EXPECT_EQ(work_of(three_by_three, Pass::backward_filter, DType::bf16).bytes.si(),
            2 * (2 * n) + 4 * (weights + 4));
}

TEST(Work, ElementwiseKindsReadAndWriteEachOperandOnce) {
  constexpr double n = 2 * 4 * 64;
  EXPECT_EQ(work_of(Relu{}, Pass::forward).bytes.si(), 4 * 2 * n);
  EXPECT_EQ(work_of(Relu{}, Pass::backward_data).bytes.si(), 4 * 3 * n);
  EXPECT_EQ(work_of(Relu{}, Pass::forward).flops.si(), n);
  EXPECT_EQ(work_of(BatchNorm{}, Pass::forward).bytes.si(), 4 * (2 * n + 8));
  EXPECT_EQ(work_of(BatchNorm{}, Pass::backward_data).bytes.si(), 4 * (3 * n + 16));
  EXPECT_EQ(work_of(Dropout{0.5}, Pass::backward_data).bytes.si(), 4 * 2 * n);
  EXPECT_EQ(work_of(Lrn{}, Pass::forward).flops.si(), 9 * n);
}

TEST(ReadyAfter, IsTheStepThatMakesTheLastGradientOfABucket) {
  const Network network = step_make_network({{"conv", three_by_three, {"input"}},
                                             {"norm", BatchNorm{}, {"conv"}},
                                             {"relu", Relu{}, {"norm"}},
                                             {"fc", FullyConnected{10}, {"relu"}},
                                             {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const std::vector<Step> steps = backward_steps(network);
  const auto after = [&](std::vector<LayerId> layers) {
    const std::size_t step = ready_after(network, steps, {std::move(layers), 0});
    return named(network, steps).at(step);
  };
  const LayerId conv(1);
  const LayerId norm(2);
  const LayerId fc(4);
  EXPECT_EQ(after({fc}), "fc backward_filter");  // not its backward_data, which follows
  EXPECT_EQ(after({norm}), "norm backward_data");
  EXPECT_EQ(after({conv}), "conv backward_filter");
  EXPECT_EQ(after({fc, norm}), "norm backward_data");
  EXPECT_EQ(after({conv, fc}), "conv backward_filter");       // in whatever order
  EXPECT_THROW((void)after({LayerId(3)}), std::logic_error);  // relu has no gradients
}

TEST(ReadyAfter, FollowsTheOrderOfMessagesInEveryNetwork) {
  for (const char* name : {"alexnet", "googlenet", "resnet50"}) {
    const Network network = load_network(name);
    const std::vector<Step> steps = backward_steps(network);
    for (const Schedule schedule : {Schedule::wait_free, Schedule::bucketed}) {
      std::size_t before = 0;
      for (const Bucket& bucket : gradient_buckets(network, schedule)) {
        const std::size_t now = ready_after(network, steps, bucket);
        EXPECT_GT(now, before);
        before = now;
      }
    }
  }
}

TEST(Work, PoolingVisitsEachElementOfEachWindow) {
  const Pooling pooling{PoolingKind::max, 2, 2, 2};
  constexpr double out = 2 * 4 * 16;
  EXPECT_EQ(work_of(pooling, Pass::forward).flops.si(), 4 * out);
  EXPECT_EQ(work_of(pooling, Pass::forward).bytes.si(), 4 * (4 * out + out) + out);
}

TEST(Work, AccumulateAddsOneGradientAConsumer) {
  const Network network = load_network("resnet50");
  for (const Step& step : backward_steps(network)) {
    if (step.pass != Pass::accumulate) continue;
    const auto n = 3.0 * static_cast<double>(network.layer(step.layer).output.elements());
    EXPECT_EQ(work(network, step, 3, DType::f32).flops.si(), n);
    EXPECT_EQ(work(network, step, 3, DType::f32).bytes.si(), 4 * 3 * n);
  }
}

TEST(Work, StepThatDoesNotExistIsACallersMistake) {
  const Network network = around(Relu{});
  EXPECT_THROW((void)work(network, {LayerId(0), Pass::forward}, 1, DType::f32), std::logic_error);
  EXPECT_THROW((void)work(network, {LayerId(2), Pass::backward_filter}, 1, DType::f32),
               std::logic_error);
  EXPECT_THROW((void)work(network, {LayerId(2), Pass::accumulate}, 1, DType::f32),
               std::logic_error);
  EXPECT_THROW((void)work(network, {LayerId(2), Pass::forward}, 0, DType::f32), std::logic_error);
}

TEST(KernelKey, IsWrittenAsDocumented) {
  const Network network = load_network("resnet50");
  for (const Layer& layer : network.layers()) {
    if (layer.name == "res2b_branch2c") {
      EXPECT_EQ(kernel_key(network, layer.id),
                "convolution c64 h56 w56 k256 r1 s1 stride1 pad0 groups1");
    }
    if (layer.name == "res2a_relu") {
      EXPECT_EQ(kernel_key(network, layer.id), "relu c256 h56 w56 consumers2");
    }
  }
}

TEST(KernelKey, LayersWithEqualKeysHaveEqualWorkInEveryPass) {
  for (const char* name : {"alexnet", "vgg19", "googlenet", "resnet50", "resnet50_v1.5"}) {
    const Network network = load_network(name);
    std::map<std::string, Work> known;
    std::vector<Step> steps = forward_steps(network);
    for (const Step& step : backward_steps(network)) steps.push_back(step);
    for (const Step& step : steps) {
      const Work now = work(network, step, 4, DType::f32);
      const std::string key =
          kernel_key(network, step.layer) + " " + std::string(pass_name(step.pass));
      const auto [entry, is_new] = known.emplace(key, now);
      EXPECT_EQ(entry->second.flops, now.flops) << key;
      EXPECT_EQ(entry->second.bytes, now.bytes) << key;
    }
    EXPECT_LT(known.size(), steps.size()) << name;
  }
}

}  // namespace
}  // namespace dlscale
