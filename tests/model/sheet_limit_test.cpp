#include "model/what_if/sheet_limit.hpp"

#include <gtest/gtest.h>

#include <array>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

/// One layer of 4 inputs and 2 outputs: 10 parameters.
Network one_layer() {
  return {"one",
          {4, 1, 1},
          {{"fc", FullyConnected{2}, {"input"}}, {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

Cluster slow_cluster() {
  Cluster cluster;
  cluster.name = "slow";
  cluster.nodes = 2;
  cluster.device.peak = {{DType::f32, FlopsPerSecond(1e3)}};
  cluster.device.memory_bandwidth = BytesPerSecond(1e9);
  cluster.host_device.bandwidth = BytesPerSecond(1e9);
  cluster.inter_node.bandwidth = BytesPerSecond(10);
  return cluster;
}

/// Operations alone take any time on one rank. On two, 2 (2 - 1) / 2 · 40 B pass the link of 10 B/s
/// in 4 s, which is longer than backward.
TEST(SheetLimit, IsWhatOperationsAndTheLinkTakeAtFullRate) {
  TrainingRun run;
  run.batch = 2;
  const double one = sheet_limit(one_layer(), slow_cluster(), run);
  const double products = 2 * 2 * 4 * 2 / 1e3;  // forward: 2 operations · 8 weights · 2 samples
  EXPECT_LT(one, 2 / (2 * products));
  EXPECT_GT(one, 2 / (4 * products));
  run.ranks = 2;
  EXPECT_NEAR(sheet_limit(one_layer(), slow_cluster(), run), 2 * 2 / (4 + products), 0.01);
}

TEST(SheetLimit, NeedsAPeak) {
  Cluster cluster = slow_cluster();
  cluster.device.peak.clear();
  EXPECT_THROW(static_cast<void>(sheet_limit(one_layer(), cluster, TrainingRun{})), ConfigError);
}

/// The limit of ResNet-50 in bf16 on one H100 is more than twice what such a GPU reaches.
TEST(SheetLimit, IsFarAboveWhatIsPredicted) {
  const Network network = load_network("resnet50");
  const Machine machine = nominal_machine(load_cluster("dgx_h100"));
  TrainingRun run;
  run.network = network.name();
  run.batch = 256;
  run.dtype = DType::bf16;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.loader_threads = 14;
  for (const Prediction& prediction : predict(network, machine, run, std::array{1, 8, 64})) {
    const double limit = sheet_limit(network, machine.cluster, prediction.run);
    EXPECT_GT(limit, 2 * prediction.images_per_s);
    EXPECT_LT(limit, 4 * prediction.images_per_s);
  }
}

/// Convolutions in f32 take fewer multiplications than they declare, and the limit counts that.
TEST(SheetLimit, IsAboveWhatIsPredictedByMinimalFiltering) {
  const Network network = load_network("vgg16");
  for (const char* cluster : {"dgx1", "piz_daint"}) {
    const Machine machine = nominal_machine(load_cluster(cluster));
    TrainingRun run;
    run.network = network.name();
    run.batch = 32;
    run.ranks_per_node = machine.cluster.devices_per_node;
    const Prediction prediction = predict(network, machine, run, std::array{1}).front();
    EXPECT_GT(sheet_limit(network, machine.cluster, prediction.run), prediction.images_per_s)
        << cluster;
  }
}

}  // namespace
}  // namespace dlscale::model
