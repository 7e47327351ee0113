#include <gtest/gtest.h>

#include <utility>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/peak_share.hpp"

namespace dlscale::model {
namespace {

struct Asked {
  explicit Asked(Network of) : network(std::move(of)) {
    cluster.device.peak = {{DType::f32, FlopsPerSecond(1e9)}, {DType::f16, FlopsPerSecond(4e9)}};
    cluster.devices_per_node = 2;
    run.ranks = 4;
    run.ranks_per_node = 2;
  }
  [[nodiscard]] double share(double samples, Seconds time) const {
    return least_peak_share(network, nominal_machine(cluster), run, samples, time);
  }
  Network network;
  Cluster cluster = load_cluster("p40x16");
  Run run;
};

Asked one_product() {
  return Asked(
      Network("product", {100, 1, 1},
              {{"fc", FullyConnected{10}, {"input"}}, {"loss", SoftmaxCrossEntropy{}, {"fc"}}}));
}

TEST(LeastPeakShares, CountForwardAndTheGradientsThatSomethingReads) {
  Asked asked = one_product();  // its input needs no gradient
  const double operations = 2 * 2 * 1000.0;
  EXPECT_NEAR(asked.share(64, Seconds(0.5)), 64 * operations / (0.5 * 1e9 * 4), 1e-12);
  asked.run.dtype = DType::f16;
  EXPECT_NEAR(asked.share(64, Seconds(0.5)), 64 * operations / (0.5 * 4e9 * 4), 1e-12);
  asked.run.ranks_per_node = 8;  // a quarter of a device each
  EXPECT_NEAR(asked.share(64, Seconds(0.5)), 64 * operations / (0.5 * 4e9), 1e-12);
  asked.run.dtype = DType::bf16;
  EXPECT_EQ(asked.share(64, Seconds(0.5)), 0);
}

TEST(LeastPeakShares, LeaveRoomForFastAlgorithms) {
  const auto convolution = [](int kernel) {
    return Asked(Network("filters", {8, 16, 16},
                         {{"conv", Convolution{8, kernel, kernel, 1, kernel / 2}, {"input"}},
                          {"fc", FullyConnected{1}, {"conv"}},
                          {"loss", SoftmaxCrossEntropy{}, {"fc"}}}));
  };
  EXPECT_NEAR(convolution(3).share(1, Seconds(1)), convolution(1).share(1, Seconds(1)), 1e-12);
}

}  // namespace
}  // namespace dlscale::model
