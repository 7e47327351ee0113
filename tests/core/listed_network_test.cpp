#include "core/network/listed_network.hpp"

#include <gtest/gtest.h>

namespace dlscale {
namespace {

TEST(ListedNetwork, IsToldApartFromANetworkWithItsList) {
  EXPECT_EQ(listed_network("convnet", "L1"), "convnet_L1");
  EXPECT_EQ(set_of("convnet_L1", "L1"), "convnet");
  EXPECT_EQ(set_of("alexnet_owt", "conv1"), "alexnet_owt");
  EXPECT_EQ(set_of("vgg16", ""), "vgg16");
}

}  // namespace
}  // namespace dlscale
