// Explanations and time lines of predicted iterations.
#include "model/what_if/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/what_if/scaled_machine.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

TrainingRun on_p40s(int ranks) {
  TrainingRun run;
  run.network = "alexnet";
  run.cluster = "p40x16";
  run.ranks = ranks;
  run.ranks_per_node = 4;
  run.batch = 32;
  run.loader_threads = 6;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  return run;
}

class Explained : public testing::Test {
 protected:
  [[nodiscard]] Prediction predicted(const Machine& machine, const TrainingRun& run) const {
    const int ranks[] = {run.ranks};
    return predict(network_, machine, run, ranks).front();
  }
  [[nodiscard]] double total(const Machine& machine, const TrainingRun& run) const {
    return predicted(machine, run).time.total.si();
  }
  static const PartOfIteration* part(const Explanation& explanation, const std::string& name) {
    const auto found = std::ranges::find(explanation.parts, name, &PartOfIteration::name);
    return found == explanation.parts.end() ? nullptr : &*found;
  }
  static const Sensitivity* input(const Explanation& explanation, const std::string& name) {
    const auto found = std::ranges::find(explanation.inputs, name, &Sensitivity::input);
    return found == explanation.inputs.end() ? nullptr : &*found;
  }
  static const Advice* advice(const Explanation& explanation, const std::string& change) {
    const auto found = std::ranges::find_if(explanation.advice, [&](const Advice& one) {
      return std::string(one.setting) + " " + one.value == change;
    });
    return found == explanation.advice.end() ? nullptr : &*found;
  }

  Network network_ = load_network("alexnet");
  Machine machine_ = nominal_machine(load_cluster("p40x16"));
};

TEST_F(Explained, PartsSayWhatTheIterationWouldBeWithoutThem) {
  const TrainingRun run = on_p40s(16);
  const Explanation explanation = explain(network_, machine_, run);
  const double now = explanation.prediction.time.total.si();
  for (const PartOfIteration& one : explanation.parts) {
    EXPECT_LE(one.without.si(), now * (1 + 1e-12)) << one.name;
    EXPECT_GT(one.busy.si(), 0) << one.name;
  }
  ASSERT_NE(part(explanation, "communication"), nullptr);
  EXPECT_NEAR(part(explanation, "communication")->without.si(), total(machine_, on_p40s(1)),
              1e-9 * now);
}

TEST_F(Explained, InputsAreThoseOfPredictionsWithThemChanged) {
  const TrainingRun run = on_p40s(16);
  const Explanation explanation = explain(network_, machine_, run);
  const double now = explanation.prediction.time.total.si();
  for (const Hardware what :
       {Hardware::peak, Hardware::memory_bandwidth, Hardware::inter_node_bandwidth}) {
    const Sensitivity* one = input(explanation, std::string(hardware_name(what)));
    ASSERT_NE(one, nullptr);
    EXPECT_NEAR(one->better.si(), total(scaled_machine(machine_, what, 1.1), run), 1e-12 * now);
    EXPECT_NEAR(one->worse.si(), total(scaled_machine(machine_, what, 1 / 1.1), run), 1e-12 * now);
    EXPECT_LT(one->better, one->worse);
  }
  EXPECT_TRUE(std::ranges::is_sorted(explanation.inputs, {}, &Sensitivity::better));
  // Messages bound it, so wires count for more than arithmetic.
  ASSERT_EQ(explanation.prediction.bound, "communication");
  EXPECT_LT(input(explanation, "inter_node.bandwidth")->better,
            input(explanation, "device.peak")->better);
}

TEST_F(Explained, AllReducesAreThoseOfTheOption) {
  const TrainingRun run = on_p40s(16);
  int all_reduces = 0;
  for (const Advice& one : explain(network_, machine_, run).advice) {
    if (one.setting != "all-reduce") continue;
    ++all_reduces;
    Machine asked = machine_;
    set_all_reduce(asked, one.value);
    const double by_option = predicted(asked, run).images_per_s;
    EXPECT_NEAR(one.images_per_s, by_option, 1e-9 * by_option) << one.value;
  }
  EXPECT_EQ(all_reduces, 2);  // "best" and "sharp"
  Machine by_ethernet = machine_;
  by_ethernet.cluster.network->kind = "ethernet-tcp";
  EXPECT_EQ(advice(explain(network_, by_ethernet, run), "all-reduce sharp"), nullptr);
}

TEST_F(Explained, AdviceIsThatOfPredictionsOfTheChangedRun) {
  TrainingRun run = on_p40s(16);
  const Explanation explanation = explain(network_, machine_, run);
  run.schedule = Schedule::sequential;
  ASSERT_NE(advice(explanation, "schedule sequential"), nullptr);
  const Prediction sequential = predicted(machine_, run);
  EXPECT_NEAR(advice(explanation, "schedule sequential")->images_per_s, sequential.images_per_s,
              1e-9 * sequential.images_per_s);
  ASSERT_NE(advice(explanation, "all-reduce sharp"), nullptr);
  EXPECT_GT(advice(explanation, "all-reduce sharp")->images_per_s, 0);
  EXPECT_EQ(advice(explanation, "schedule wait_free"), nullptr);
  for (std::size_t i = 1; i < explanation.advice.size(); ++i) {
    const Advice& before = explanation.advice[i - 1];
    const Advice& after = explanation.advice[i];
    EXPECT_TRUE(!after.why_not.empty() || before.images_per_s >= after.images_per_s);
  }
}

TEST_F(Explained, AdviceOnServersIsAllPossible) {
  TrainingRun run = on_p40s(16);
  run.synchronisation = Synchronisation::parameter_server;
  run.settings.servers = 4;
  run.settings.sharding = Sharding::tensorflow;
  Explanation explanation = explain(network_, machine_, run);
  EXPECT_EQ(advice(explanation, "schedule bucketed"), nullptr);  // which takes whole messages
  EXPECT_EQ(advice(explanation, "sharding tensorflow"), nullptr);
  TrainingRun cut = run;
  cut.settings.sharding = Sharding::mxnet;
  ASSERT_NE(advice(explanation, "sharding mxnet"), nullptr);
  EXPECT_NEAR(advice(explanation, "sharding mxnet")->images_per_s,
              predicted(machine_, cut).images_per_s, 1e-6);
  EXPECT_GT(advice(explanation, "sharding mxnet")->images_per_s,
            explanation.prediction.images_per_s);
  for (const Advice& one : explanation.advice) {
    const bool exchange = one.setting.starts_with("s");  // schedule, synchronisation, sharding
    EXPECT_TRUE(!exchange || one.why_not.empty()) << one.value << ": " << one.why_not;
  }
  run.schedule = Schedule::bucketed;
  run.settings.sharding = Sharding::largest_first;
  explanation = explain(network_, machine_, run);
  EXPECT_EQ(advice(explanation, "sharding mxnet"), nullptr);
  EXPECT_NE(advice(explanation, "schedule wait_free"), nullptr);
}

TEST_F(Explained, AdviceThatCannotBeFollowedSaysWhy) {
  const TrainingRun run = on_p40s(1);
  machine_.cluster.device.memory =
      1.01 * memory_need(network_, DeviceKind::gpu, run).least();  // not of twice the batch
  const Explanation explanation = explain(network_, machine_, run);
  ASSERT_NE(advice(explanation, "batch 64"), nullptr);
  EXPECT_NE(advice(explanation, "batch 64")->why_not, "");
  EXPECT_NE(explanation.advice.front().value, "64");
  EXPECT_EQ(part(explanation, "communication"), nullptr);
  EXPECT_EQ(input(explanation, "inter_node.bandwidth"), nullptr);
}

TEST_F(Explained, FittedMachinesAreToo) {
  const Network network = synthetic::branched();
  const Machine machine = calibrate(synthetic::two_workers(), synthetic::results(network, 8));
  TrainingRun run;
  run.network = "branched";
  run.ranks = run.ranks_per_node = 2;
  for (const Schedule schedule : {Schedule::wait_free, Schedule::horovod, Schedule::priority}) {
    run.schedule = schedule;
    const Explanation explanation = explain(network, machine, run);
    const Seconds now = explanation.prediction.time.total;
    ASSERT_NE(input(explanation, "device as a whole"), nullptr);
    EXPECT_LT(input(explanation, "device as a whole")->better, now) << schedule_name(schedule);
    ASSERT_NE(part(explanation, "communication"), nullptr) << schedule_name(schedule);
    EXPECT_LT(part(explanation, "communication")->without, now) << schedule_name(schedule);
  }
}

}  // namespace
}  // namespace dlscale::model
