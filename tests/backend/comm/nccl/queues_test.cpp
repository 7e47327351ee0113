#include "backend/comm/nccl/preconditions.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

TEST(Queues, OfTwoLinksMayNotBeOne) {
  EXPECT_THROW(expect_queues_for_two_links(2, "1"), ConfigError);
  EXPECT_NO_THROW(expect_queues_for_two_links(1, "1"));  // nobody to wait for
  for (const char* value : {static_cast<const char*>(nullptr), "", "2", "8", "16"}) {
    EXPECT_NO_THROW(expect_queues_for_two_links(8, value));
  }
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
