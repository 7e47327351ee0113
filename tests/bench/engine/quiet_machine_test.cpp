#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/engine/speed_looks.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "tests/bench/engine/scripted_work.hpp"

namespace dlscale::bench {
namespace {

Measurement timed_row() {
  Measurement row;
  row.series["time"] = make_series("s", {{1e-3, 1e-3}});
  return row;
}

class Quiet : public testing::Test {
 protected:
  std::unique_ptr<backend::Communicator> alone_ = std::move(backend::local_group(1).front());
};

TEST_F(Quiet, MachineIsMeasuredAtOnceAndTold) {
  QuietMachine machine(*alone_, Seconds(60), ScriptedWork({1.0, 1.05, 1.02}));
  machine.wait();
  EXPECT_FALSE(machine.disturbed());
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_TRUE(row.warnings.empty());
  EXPECT_EQ(row.at("witness").samples,
            (std::vector<std::vector<double>>{{1e-3 * 1.05, 1e-3 * 1.02}}));
}

TEST_F(Quiet, MachineIsWaitedFor) {
  QuietMachine machine(*alone_, Seconds(60), ScriptedWork({1.0, 1.4, 1.4, 1.01, 1.0}));
  machine.wait();
  EXPECT_FALSE(machine.disturbed());
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_EQ(row.at("witness").samples, (std::vector<std::vector<double>>{{1e-3 * 1.01, 1e-3}}));
}

TEST_F(Quiet, MachineThatGotSlowerMeanwhileIsMeasuredAgain) {
  QuietMachine machine(*alone_, Seconds(60), ScriptedWork({1.0, 1.0, 1.4, 1.0, 1.0}));
  machine.wait();
  EXPECT_TRUE(machine.disturbed());
  machine.wait();
  EXPECT_FALSE(machine.disturbed());
}

TEST_F(Quiet, MeasurementsThatSlowTheMachineDownEndWithPatience) {
  int looks = 0;
  QuietMachine machine(*alone_, Seconds(0.05), [&looks] {
    return Seconds(looks++ % 2 == 0 ? 1.4e-3 : 1e-3);  // quiet before each, slow after
  });
  machine.wait();
  while (machine.disturbed()) machine.wait();
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::unstable);
  EXPECT_GT(looks, 4);
}

TEST_F(Quiet, PatienceEndsAndTheRowSaysSo) {
  QuietMachine machine(*alone_, Seconds(0.1), ScriptedWork({1.0, 1.4}));
  machine.wait();
  EXPECT_FALSE(machine.disturbed());  // slow, but there is no patience left
  Measurement row = timed_row();
  machine.tell(row);
  EXPECT_EQ(row.status, Status::unstable);
  EXPECT_NE(row.reason.find("40 % longer"), std::string::npos) << row.reason;
  ASSERT_EQ(row.warnings.size(), 1);
  EXPECT_NE(row.warnings.front().find("--wait-quiet"), std::string::npos);
}

TEST_F(Quiet, MachineIsTheSlowestRank) {
  auto group = backend::local_group(2);
  const auto run = [&](int rank) {
    QuietMachine machine(*group[rank], Seconds(0.1),
                         ScriptedWork(rank == 0 ? std::vector{1.0} : std::vector{2.0, 3.0}));
    machine.wait();
    EXPECT_FALSE(machine.disturbed());
    Measurement row = timed_row();
    machine.tell(row);
    EXPECT_EQ(row.status, Status::unstable);
    EXPECT_EQ(row.at("witness").samples,
              (std::vector<std::vector<double>>{{1e-3, 1e-3}, {1e-3 * 3, 1e-3 * 3}}));
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

TEST(SpeedWitness, TakesAboutAMillisecond) {
  const SpeedWitness witness;
  EXPECT_GE(witness.time(), Seconds(1e-4));  // whatever else runs, it is some work
}

}  // namespace
}  // namespace dlscale::bench
