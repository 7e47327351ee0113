#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "bench/e2e/training_watch.hpp"
#include "tests/bench/engine/scripted_work.hpp"

namespace dlscale::bench {
namespace {

class Iterations : public testing::Test {
 protected:
  std::unique_ptr<backend::Communicator> alone_ = std::move(backend::local_group(1).front());
};

Measurement timed_row() {
  Measurement row;
  row.series["t_iter"] = make_series("s", {{1e-3, 1e-3}});
  return row;
}

TEST_F(Iterations, CountWhereTheMachineWasQuietBeforeAndAfter) {
  QuietIterations iterations(*alone_, Seconds(60), ScriptedWork({1.0, 1.05, 1.4, 1.0, 1.02}));
  for (int look = 0; look < 5; ++look) iterations.look();
  EXPECT_EQ(iterations.counted(), (std::vector<bool>{true, false, false, true}));
  EXPECT_FALSE(iterations.are_enough(3));
  EXPECT_TRUE(iterations.are_enough(2));
  Measurement row = timed_row();
  iterations.tell(row, 2);
  EXPECT_EQ(row.status, Status::ok);
  EXPECT_TRUE(row.warnings.empty());
  EXPECT_EQ(row.at("witness").samples.front().size(), 5);
}

TEST_F(Iterations, NoLongerCountOnceTheMachineIsSeenToBeFaster) {
  QuietIterations iterations(*alone_, Seconds(60), ScriptedWork({1.4, 1.4, 1.4, 1.0, 1.0}));
  for (int look = 0; look < 3; ++look) iterations.look();
  EXPECT_TRUE(iterations.are_enough(2));
  for (int look = 0; look < 2; ++look) iterations.look();
  EXPECT_EQ(iterations.counted(), (std::vector<bool>{false, false, false, true}));
  EXPECT_FALSE(iterations.are_enough(2));
}

TEST_F(Iterations, AreEnoughWhenPatienceEndsAndTheRowSaysSo) {
  QuietIterations iterations(*alone_, Seconds(1e-3), ScriptedWork({1.0, 1.4}));
  iterations.look();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  iterations.look();
  EXPECT_TRUE(iterations.are_enough(1));
  Measurement row = timed_row();
  iterations.tell(row, 1);
  EXPECT_EQ(row.status, Status::unstable);
  EXPECT_NE(row.reason.find("around 0 of 1 iterations only, 1 were wanted"), std::string::npos)
      << row.reason;
  ASSERT_EQ(row.warnings.size(), 1);
  EXPECT_NE(row.warnings.front().find("--wait-quiet"), std::string::npos);
}

TEST_F(Iterations, AreThoseOfTheSlowestRank) {
  auto group = backend::local_group(2);
  const auto run = [&](std::size_t rank) {
    QuietIterations iterations(
        *group[rank], Seconds(60),
        ScriptedWork(rank == 0 ? std::vector{1.0} : std::vector{2.0, 2.0, 3.0}));
    for (int look = 0; look < 3; ++look) iterations.look();
    EXPECT_EQ(iterations.counted(), (std::vector<bool>{true, false}));
    EXPECT_TRUE(iterations.are_enough(1));
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
}

}  // namespace
}  // namespace dlscale::bench
