// What published figures of messages and iterations show together; each by itself is held by
// checks_test.cpp.
#include <gtest/gtest.h>

#include "core/collective/algorithm.hpp"
#include "core/network/merge.hpp"
#include "model/topology/nominal_all_reduce.hpp"
#include "tests/model/googlenet_trace.hpp"
#include "tests/model/nominal_ring.hpp"

namespace dlscale::model {
namespace {

/// Images a second of GoogLeNet on K80 and 10 Gb/s: wait-free, merged, in a single
/// message. [shyhuai/B-Caffe scripts/gmwfbp.py, realdata_speedup]
struct PublishedMethods {
  int nodes;
  double wait_free;
  double merged;
  double single;
};
constexpr PublishedMethods methods[] = {
    {2, 299.32, 316.08, 250.28}, {4, 599.28, 600.24, 461.36}, {8, 1006.4, 1210.88, 889.28}};

/// With forward half of backward, as the authors assume it.
TEST(PublishedMethodsTest, FollowFromTheTraceInTheirOrder) {
  const auto gradients = googlenet_gradients();
  const Seconds forward = 0.5 * gradients.back().ready;
  for (const PublishedMethods& measured : methods) {
    const LinearCost cost = googlenet_cost(measured.nodes);
    const auto iteration = [&](const Groups& groups) {
      return forward + last_arrival(gradients, groups, cost);
    };
    const Seconds wait_free = iteration(Groups(gradients.size(), 1));
    const Seconds merged = iteration(merge_greedily(gradients, cost));
    const Seconds single = iteration(Groups{gradients.size()});
    EXPECT_LE(merged, wait_free * (1 + 1e-12));
    EXPECT_LT(wait_free, single);
    EXPECT_GT(measured.merged, measured.wait_free);
    EXPECT_GT(measured.wait_free, measured.single);
    EXPECT_NEAR((wait_free / merged) / (measured.merged / measured.wait_free), 1, 0.08)
        << measured.nodes;
    EXPECT_NEAR((single / merged) / (measured.merged / measured.single), 1, 0.25) << measured.nodes;
  }
}

/// A ring sends nearly twice what a stream to adding switches does.
TEST(InNetworkReduction, OfAStreamIsNearlyTwiceAsQuickAsARing) {
  const BytesPerSecond network(25e9);
  const collective::Link wire{{}, 1 / network, {}};
  const Bytes m(1e9);
  const double gain =
      nominal_ring(128, m, network) / in_network_all_reduce({}, {wire, {}}, {128, 1}, m);
  EXPECT_GT(gain, 1.8);
  EXPECT_LT(gain, 2);
}

}  // namespace
}  // namespace dlscale::model
