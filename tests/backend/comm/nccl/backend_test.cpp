// Links all of the communicator, whether or not a program of this build has it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

extern const CommBackend nccl;

namespace {

TEST(CommunicatorOfGpus, ConnectsOneRankOrSaysWhyItCannot) {
  if (launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
  const std::string obstacle = nccl.obstacle();
  if (obstacle.empty()) {
    EXPECT_EQ(nccl.connect()->size(), 1);
    return;
  }
  EXPECT_EQ(obstacle.find('\n'), std::string::npos) << obstacle;
  EXPECT_THROW(nccl.connect(), Error);
}

}  // namespace
}  // namespace dlscale::backend
