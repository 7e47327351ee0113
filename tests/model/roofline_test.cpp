#include "model/roofline/kernels/roofline.hpp"

#include <gtest/gtest.h>

#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

double ridge(double flops, double bytes) {
  return Roofline{FlopsPerSecond(flops), BytesPerSecond(bytes)}.ridge_point().si();
}

TEST(Roofline, HasTheRidgePointsOfCheckC109) {
  EXPECT_NEAR(ridge(75e9, 10e9), 7.5, 1e-2);       // Xeon E5345
  EXPECT_NEAR(ridge(4600e9, 156e9), 29.49, 1e-2);  // GTX 980
  EXPECT_NEAR(ridge(8800e9, 320e9), 27.5, 1e-2);   // GTX 1080
}

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
  EXPECT_EQ(link_between(cluster, place, 0, 3).name, "inside");
  EXPECT_EQ(link_between(cluster, place, 3, 4).name, "outside");
  EXPECT_THROW(link_between(cluster, place, 3, 8), std::logic_error);
  EXPECT_EQ(ring_link(cluster, place).alpha.si(), 5);
  EXPECT_EQ(ring_link(cluster, place).beta.si(), 0.1);
  EXPECT_EQ(ring_link(cluster, {4, 4}).beta.si(), 0.01);
  EXPECT_EQ(nominal_link(cluster, cluster.inter_node, 4).beta.si(), 0.4);
}

}  // namespace
}  // namespace dlscale::model
