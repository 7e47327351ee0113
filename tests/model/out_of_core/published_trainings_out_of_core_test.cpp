#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/out_of_core/offloaded_update.hpp"
#include "model/memory/out_of_core/optimal_choices.hpp"
#include "model/memory/out_of_core/policies.hpp"
#include "model/memory/out_of_core/spill_time.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "tests/model/missed_claims.hpp"

/// Published trainings beyond the memory of a device, predicted from data sheets alone. The figures
/// are those of docs/explanation/out-of-core.md.
namespace dlscale::model {
namespace {

/// One device of a data sheet, over PCI Express 3.0.
Machine machine_of(std::string_view device) {
  Cluster cluster = load_cluster("p40x16");
  cluster.device = nominal_device(load_device_sheet(device), sheet::fitted_launch);
  return nominal_machine(cluster);
}

SpilledTraining training_of(std::string_view network, const Machine& machine, int batch) {
  Run run;
  run.network = network;
  run.cluster = machine.cluster.name;
  run.batch = batch;
  run.input_copy = InputCopy::ahead;
  return spilled_training(load_network(network), machine, run);
}

/// vDNN trains VGG-16 with 256 images, which need 28 GB, on a TITAN X of 12 GB. It is 18 % slower
/// than an oracle with enough memory. [arXiv:1602.08124, abstract] Its policy is a mixture that is
/// chosen for the network. The memory here has neither workspaces nor buffers that
/// outlive their use.
TEST(PublishedOutOfCore, VdnnOfVgg16) {
  const Machine machine = machine_of("gtx_titan_x");
  const SpilledTraining training = training_of("vgg16", machine, 256);
  const HostLink link = host_link(machine.cluster);
  const Bytes memory = machine.cluster.device.memory;
  EXPECT_THROW((void)spilled(SpillPolicy::keep, training, link, memory), ConfigError);
  const auto slow_down = [&](SpillPolicy policy) {
    return spilled(policy, training, link, memory).slow_down(training);
  };
  const auto whole = optimal_choices(training, link, memory);
  ASSERT_TRUE(whole.has_value());
  const double best = spill_time(training, *whole, link).total / training.compute() - 1;
  EXPECT_NEAR(best, 0.171, 0.01);  // the page has these; the best choice here is not vDNN's
  EXPECT_NEAR(slow_down(SpillPolicy::optimal), 0.165, 0.01);
  const double by_vdnn = slow_down(SpillPolicy::vdnn_conv);
  test::expect_met_or_listed(
      {"vDNN, VGG-16, slower than with memory", "18 %", fmt::format("{:.0f} %", 100 * by_vdnn)},
      std::abs(by_vdnn - 0.18), 0.08);
  EXPECT_NEAR(slow_down(SpillPolicy::vdnn_all), 0.66, 0.03);
}

/// OC-DNN with prefetches and advice is up to 1.9 times as fast as managed memory on demand.
/// [doi 10.1109/HiPC.2018.00024, abstract] Copies pass 2.47 times what pages on demand do, which is
/// the most that can be.
TEST(PublishedOutOfCore, OcDnnOverManagedMemoryOnDemand) {
  const Machine machine = machine_of("v100_pcie_16gb");
  const HostLink link = host_link(machine.cluster);
  for (const int batch : {256, 320, 384, 512, 768}) {
    const SpilledTraining training = training_of("resnet50", machine, batch);
    const Bytes memory = machine.cluster.device.memory;
    const SpillAnswer plain = spilled(SpillPolicy::unified, training, link, memory);
    const SpillAnswer advised = spilled(SpillPolicy::unified_advised, training, link, memory);
    EXPECT_GE(plain.total / advised.total, 1.5) << batch;
    EXPECT_LE(plain.total / advised.total, 2.5) << batch;
    EXPECT_NEAR(plain.total / advised.total, 2.32, 0.06) << batch;
  }
}

/// ResNet-50 with 1440 images, 7.5 times as many as fit, at 55 % of the speed. [arXiv:2010.14109,
/// abstract] The device is taken as a V100 of 16 GiB: 192 images need as much here.
TEST(PublishedOutOfCore, WindowScheduleOfResnet50) {
  const Machine machine = machine_of("v100_pcie_16gb");
  const HostLink link = host_link(machine.cluster);
  const Bytes memory(16.0 * 1024 * 1024 * 1024);
  const Bytes alone =
      spilled(SpillPolicy::keep, training_of("resnet50", machine, 192), link, Bytes(1e12)).peak;
  EXPECT_NEAR(alone / memory, 1, 0.08);
  const SpilledTraining training = training_of("resnet50", machine, 1440);
  const SpillAnswer best = spilled(SpillPolicy::optimal, training, link, memory);
  EXPECT_NEAR(training.compute() / best.total, 0.20, 0.02);
  const HostLink nvlink = host_link(load_cluster("lassen"));
  const SpillAnswer over_nvlink = spilled(SpillPolicy::optimal, training, nvlink, memory);
  EXPECT_NEAR(training.compute() / over_nvlink.total, 0.61, 0.03);
}

/// Processors update 10^9 parameters in 0.22 s, and twice as many in 0.51 s. [ZeRO-Offload,
/// arXiv:2101.06840, from memory; the first decided the rate]
TEST(PublishedOutOfCore, UpdatesOfZeroOffload) {
  SpilledTraining none;
  const Machine machine = machine_of("v100_sxm2_32gb");
  const HostLink link = host_link(machine.cluster);
  const OffloadedUpdate update = offloaded_update(none, 2e9, 2, link, {server_update_rate});
  EXPECT_NEAR(update.update.si(), 0.51, 0.09);
}

}  // namespace
}  // namespace dlscale::model
