#include "model/sgd_iter/kernels/sheet_times.hpp"

#include <gtest/gtest.h>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"

namespace dlscale::model {
namespace {

/// A sweep over numbers of ranks times the kernels of a network once.
TEST(SheetTimes, AreThoseOfBeforeForTheSameQuestion) {
  const Network network = load_network("alexnet");
  Machine machine = nominal_machine(load_cluster("dgx1"));
  dlscale::Run run;
  run.batch = 64;
  const auto first = sheet_times(network, machine, run);
  run.ranks = 8;
  EXPECT_EQ(sheet_times(load_network("alexnet"), machine, run), first);
  run.batch = 32;
  EXPECT_NE(sheet_times(network, machine, run), first);
  run.batch = 64;
  run.dtype = DType::f16;
  EXPECT_NE(sheet_times(network, machine, run), first);
  run.dtype = DType::f32;
  EXPECT_NE(sheet_times(load_network("resnet18"), machine, run), first);
  machine.cluster.device.memory_bandwidth = 2 * machine.cluster.device.memory_bandwidth;
  EXPECT_NE(sheet_times(network, machine, run), first);
}

TEST(SheetTimes, HaveAWiderRangeBeyondWhatWasFitted) {
  Machine machine = nominal_machine(load_cluster("dgx1"));
  dlscale::Run run;
  run.batch = 64;
  const Network network = load_network("resnet50");
  const auto fitted = sheet_times(network, machine, run);
  EXPECT_TRUE(fitted->beyond.empty());
  machine.cluster.device.name = "AMD Instinct";
  const auto beyond = sheet_times(network, machine, run);
  ASSERT_EQ(beyond->beyond.size(), 1U);
  EXPECT_LT(beyond->range.low, fitted->range.low);
  EXPECT_GT(beyond->range.high, fitted->range.high);
}

}  // namespace
}  // namespace dlscale::model
