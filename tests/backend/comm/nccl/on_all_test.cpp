#include "backend/comm/nccl/preconditions.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "tests/backend/comm/groups.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

/// What each of three ranks hears of work that rank `failing` cannot do.
std::vector<std::string> obstacles(Rank failing) {
  std::vector<std::string> heard(3);
  run_on_threads(3, [&](Communicator& ranks) {
    const Rank rank = ranks.rank();
    heard[static_cast<std::size_t>(rank)] = obstacle_on_any(ranks, [=] {
      if (rank == failing) throw ConfigError("The GPU has no memory left.");
    });
    ranks.barrier();  // all are in step
  });
  return heard;
}

TEST(ObstacleOnAny, IsHeardOfByAllRanks) {
  for (Rank failing = 0; failing < 3; ++failing) {
    const std::vector<std::string> heard = obstacles(failing);
    for (Rank rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(heard[static_cast<std::size_t>(rank)],
                rank == failing ? "The GPU has no memory left." : "another rank cannot ask.");
    }
  }
}

TEST(ObstacleOnAny, IsNoneWhereAllCan) {
  EXPECT_EQ(obstacles(3), std::vector<std::string>(3));
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
