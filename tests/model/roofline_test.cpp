#include <gtest/gtest.h>

#include "model/calibrate/calibrate.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/topology/topology.hpp"
#include "report/prediction/note_text.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

TEST(Roofline, IsBoundByMemoryBelowTheRidgeAndByArithmeticAbove) {
  const Roofline roofline{FlopsPerSecond(100), BytesPerSecond(10)};
  EXPECT_EQ(roofline.attainable(FlopsPerByte(0.25)).si(), 2.5);  // a dot product in f32 (C110)
  EXPECT_EQ(roofline.attainable(FlopsPerByte(10)).si(), 100);
  EXPECT_EQ(roofline.attainable(FlopsPerByte(1000)).si(), 100);
}

TEST(Roofline, TakesTheLongerOfBothTimes) {
  const Roofline roofline{FlopsPerSecond(100), BytesPerSecond(10)};
  EXPECT_EQ(roofline.time({Flops(1000), Bytes(1)}).si(), 10);
  EXPECT_EQ(roofline.time({Flops(1), Bytes(1000)}).si(), 100);
  EXPECT_EQ(roofline.time({Flops(), Bytes()}).si(), 0);
}

TEST(Placement, FillsNodesInOrder) {
  const Placement place{10, 4};
  EXPECT_EQ(place.nodes(), 3);
  EXPECT_EQ(place.ranks_on_node(), 4);
  EXPECT_EQ(place.node(7), 1);
  EXPECT_EQ((Placement{3, 4}.ranks_on_node()), 3);
}

TEST(Links, AreThoseWithinOrBetweenNodes) {
  Cluster cluster;
  cluster.intra_node = {"inside", Seconds(1), BytesPerSecond(100), ""};
  cluster.inter_node = {"outside", Seconds(5), BytesPerSecond(10), ""};
  const Placement place{8, 4};
  EXPECT_EQ(ring_link(cluster, place).alpha.si(), 5);
  EXPECT_EQ(ring_link(cluster, place).beta.si(), 0.1);
  EXPECT_EQ(ring_link(cluster, {4, 4}).beta.si(), 0.01);
  EXPECT_EQ(nominal_link(cluster, cluster.inter_node, 4).beta.si(), 0.4);
}

using namespace synthetic;

constexpr int kernel_time_batch = 8;

/// Steps of a network on one of several ranks, whose kernels were measured beside 1 and 2.
class Ranks : public testing::Test {
 protected:
  /// Multiplies the times measured beside another rank.
  void slow_together(double factor) {
    for (KernelTime& kernel : machine_.kernels) {
      if (kernel.ranks_on_node == 2) kernel.time = factor * kernel.time;
    }
  }
  void widen(double low, double high) {
    for (KernelTime& kernel : machine_.kernels) {
      kernel.time.low = low * kernel.time.value;
      kernel.time.high = high * kernel.time.value;
    }
  }
  [[nodiscard]] Estimate<Seconds> time(int ranks, Step step) {
    dlscale::Run run;
    run.batch = kernel_time_batch;
    return KernelTimes(network_, machine_, run, ranks, notes_).time(step);
  }
  [[nodiscard]] double alone(Step step) const {
    return kernel_seconds(work(network_, step, kernel_time_batch, DType::f32));
  }

  Network network_ = branched();
  Machine machine_ = calibrate(two_workers(), results(network_, kernel_time_batch));
  Notes notes_;
  Step first_ = forward_steps(network_).front();
};

TEST_F(Ranks, ThatAreAlikeTakeTheEndsOfTheirTimesTogether) {
  slow_together(1.21);
  widen(0.99, 1.02);
  const Estimate<Seconds> t = time(2, first_);
  // All steps are alike, so that e = ē and t(1) (1 + e ē) = t(2) for every t(1).
  EXPECT_NEAR(t.value.si() / alone(first_), 1.21, 1e-9);
  EXPECT_NEAR(t.low.si() / alone(first_), 1.21 * 0.99, 1e-9);
  EXPECT_NEAR(t.high.si() / alone(first_), 1.21 * 1.02, 1e-9);
}

TEST_F(Ranks, ThatDifferKeepTheirTimeWithinItsInterval) {
  for (KernelTime& kernel : machine_.kernels) {
    const bool together = kernel.ranks_on_node == 2;
    kernel.time = (together && kernel.pass == Pass::forward ? 1.25 : 1.0) * kernel.time;
  }
  const Estimate<Seconds> exact = time(2, first_);
  EXPECT_EQ(exact.low, exact.value);
  EXPECT_EQ(exact.high, exact.value);
  widen(0.9, 1.1);
  const Estimate<Seconds> t = time(2, first_);
  EXPECT_EQ(t.value, exact.value);
  EXPECT_LT(t.low, exact.value);
  EXPECT_GT(t.high, exact.value);
  // Never below the low end of t(1), nor, of a demanding step, above the high end of t(2).
  EXPECT_GE(t.low.si() / alone(first_), 0.9);
  EXPECT_LE(t.high.si() / alone(first_), 1.1 * 1.25);
}

TEST_F(Ranks, AreNeverFasterTogetherThanAlone) {
  widen(0.5, 1);
  const Estimate<Seconds> t = time(2, first_);
  EXPECT_NEAR(t.value.si() / alone(first_), 1, 1e-9);
  EXPECT_NEAR(t.low.si() / alone(first_), 0.5, 1e-9);  // t(2) < t(1) takes nothing off
  EXPECT_NEAR(t.high.si() / alone(first_), 1, 1e-9);
}

TEST_F(Ranks, HaveAFiniteTimeWhereAnIntervalReachesDownToZero) {
  slow_together(1.21);
  widen(0, 1);
  const Estimate<Seconds> t = time(2, first_);
  EXPECT_EQ(t.low.si(), 0);
  EXPECT_NEAR(t.high.si() / alone(first_), 1.21, 1e-9);
}

TEST_F(Ranks, JudgeAKernelNeverMeasuredByThoseBesideAsManyRanks) {
  const Step never{LayerId(3), Pass::forward};  // conv2a
  const std::string key = kernel_key(network_, never.layer);
  std::erase_if(machine_.kernels, [&](const KernelTime& kernel) { return kernel.kernel == key; });
  slow_together(4);
  EXPECT_NEAR(time(2, never).value / time(1, never).value, 4, 1e-9);
  EXPECT_EQ(notes_.all().size(), 1U);
  EXPECT_EQ(time(8, never).value, time(2, never).value);
  ASSERT_EQ(notes_.all().size(), 2U);
  test::expect_contains(report::note_text(notes_.all().back()),
                        "beside 8 ranks on a node were not measured");
}

}  // namespace
}  // namespace dlscale::model
