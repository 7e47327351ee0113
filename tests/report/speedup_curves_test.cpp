#include "report/validation/speedup_curves.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/cluster/cluster.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

/// A machine of processors whose nodes have memory for `ranks_of_a_node` ranks of AlexNet.
struct Setting {
  Network network = load_network("alexnet");
  model::Machine machine;
  dlscale::Run run;

  explicit Setting(double ranks_of_a_node)
      : machine(model::nominal_machine(load_cluster("p40x16"))) {
    run.network = network.name();
    run.batch = 8;
    machine.cluster.device.kind = DeviceKind::cpu;
    run.ranks_per_node = machine.cluster.devices_per_node;
    const Bytes need = model::memory_need(network, DeviceKind::cpu, run).least();
    machine.cluster.device.memory = ranks_of_a_node / run.ranks_per_node * need;
  }
};

constexpr std::array curve_ranks{1, 2, 4, 8};

TEST(SpeedupCurves, HaveAllRanksThatFit) {
  const Setting setting(100);
  SpeedupCurves all;
  append_curve(all, setting.network, setting.machine, setting.run, curve_ranks);
  ASSERT_EQ(all.curves.size(), 1);
  EXPECT_EQ(all.curves.front().size(), curve_ranks.size());
  EXPECT_TRUE(all.left_out.empty());
}

TEST(SpeedupCurves, LeaveOutRanksThatDoNotFitAndNameThem) {
  const Setting setting(2.5);  // of 4 devices a node
  SpeedupCurves all;
  append_curve(all, setting.network, setting.machine, setting.run, curve_ranks);
  ASSERT_EQ(all.curves.size(), 1);
  ASSERT_EQ(all.curves.front().size(), 2);
  EXPECT_EQ(all.curves.front().back().run.ranks, 2);
  ASSERT_EQ(all.left_out.size(), 1);
  const std::string& sentence = all.left_out.front();
  EXPECT_TRUE(sentence.starts_with("no prediction of alexnet on 4, 8 ranks: ")) << sentence;
  EXPECT_TRUE(contains(sentence, "needs at least")) << sentence;
}

TEST(SpeedupCurves, HaveNoCurveWhereNothingFits) {
  const Setting setting(0.5);
  SpeedupCurves all;
  append_curve(all, setting.network, setting.machine, setting.run, curve_ranks);
  EXPECT_TRUE(all.curves.empty());
  ASSERT_EQ(all.left_out.size(), 1);
  EXPECT_TRUE(contains(all.left_out.front(), "on 1, 2, 4, 8 ranks"));
}

}  // namespace
}  // namespace dlscale::report
