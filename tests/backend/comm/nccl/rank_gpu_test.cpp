#include "backend/comm/nccl/preconditions.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

RankGpu gpu(int device, std::uint8_t number) {
  RankGpu gpu{.device = device};
  gpu.uuid[3] = number;
  return gpu;
}

template <class Problem>
std::string problem(const std::vector<RankGpu>& gpus) {
  try {
    check_gpus(gpus);
  } catch (const Problem& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceOf, IsTheLocalRankModuloTheVisibleGpus) {
  EXPECT_EQ(device_of(0, 4), 0);
  EXPECT_EQ(device_of(3, 4), 3);
  EXPECT_EQ(device_of(5, 4), 1);
  EXPECT_EQ(device_of(2, 1), 0) << "a launcher that shows each rank its own";
  EXPECT_EQ(device_of(0, 0), -1);
}

TEST(RankGpus, MayHaveOneNumberOnSeveralNodes) {
  EXPECT_NO_THROW(check_gpus(std::vector{gpu(0, 1), gpu(1, 2), gpu(0, 3), gpu(0, 4)}));
}

TEST(RankGpus, AreRefusedIfTwoRanksShareOne) {
  const std::string text = problem<ConfigError>({gpu(0, 1), gpu(1, 2), gpu(0, 1)});
  EXPECT_TRUE(text.starts_with("Ranks 0 and 2 would share a GPU")) << text;
}

TEST(RankGpus, AreRefusedIfARankSeesNone) {
  const std::string text = problem<Unsupported>({gpu(0, 1), gpu(-1, 0), gpu(-1, 0)});
  EXPECT_TRUE(text.starts_with("Rank 1 sees no GPU")) << text;
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
