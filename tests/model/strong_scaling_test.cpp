#include "model/sgd_iter/strong_scaling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {
namespace {

dlscale::Run training(const Machine& machine) {
  dlscale::Run run;
  run.network = "alexnet";
  run.cluster = machine.cluster.name;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.loader_threads = 6;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  return run;
}

class StrongScalingTest : public testing::Test {
 protected:
  [[nodiscard]] StrongScaling scaled(const std::vector<int>& ranks, std::int64_t batch) const {
    return predict_strong(network_, machine_, training(machine_), ranks, batch, {});
  }
  Network network_ = load_network("alexnet");
  Machine machine_ = nominal_machine(load_cluster("v100x16_ib100"));
};

TEST_F(StrongScalingTest, GivesEachRankItsPartAndComparesWithOneThatHasAll) {
  const StrongScaling scaling = scaled({1, 2, 3, 8}, 256);
  ASSERT_EQ(scaling.rows.size(), 3U);
  ASSERT_EQ(scaling.left_out.size(), 1U);
  EXPECT_EQ(scaling.left_out.front(), "ranks 3: 256 images are no whole number for each");
  const Seconds alone = scaling.rows[0].time.total;
  for (const Prediction& row : scaling.rows) {
    EXPECT_EQ(row.run.ranks * row.run.batch, 256);
    EXPECT_NEAR(row.speedup, alone / row.time.total, 1e-12 * row.speedup);
    EXPECT_NEAR(row.efficiency * row.run.ranks, row.speedup, 1e-12 * row.speedup);
    dlscale::Run same = training(machine_);
    same.batch = row.run.batch;
    const std::array ranks{row.run.ranks};
    EXPECT_EQ(predict(network_, machine_, same, ranks).front().time.total, row.time.total);
  }
  EXPECT_EQ(scaling.rows[0].speedup, 1);
  EXPECT_EQ(scaling.speedup_over, "1 rank with all 256 images");
}

TEST_F(StrongScalingTest, ComparesWithTheFewestRanksWhereOneCannotHoldAll) {
  const StrongScaling scaling = scaled({16, 8}, 8192);
  ASSERT_EQ(scaling.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(scaling.rows[1].speedup, 8);
  EXPECT_NEAR(scaling.rows[0].speedup,
              8 * (scaling.rows[1].time.total / scaling.rows[0].time.total), 1e-9);
  EXPECT_EQ(scaling.speedup_over.find("8 ranks, counted as 8"), 0U) << scaling.speedup_over;
}

TEST_F(StrongScalingTest, LeavesOutWhatNobodyCanPredict) {
  const StrongScaling scaling = scaled({3, 7}, 1'000'000'000);
  EXPECT_TRUE(scaling.rows.empty());
  EXPECT_EQ(scaling.left_out.size(), 2U);
  EXPECT_THROW((void)scaled({1}, 0), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
