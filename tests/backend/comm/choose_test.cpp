#include "backend/comm/connect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlscale::backend {
namespace {

using testing::HasSubstr;

Prospects on_gpus() {
  return {.ranks = 4,
          .gradients = DataPlace::device,
          .nccl_obstacle = "",
          .mpi_takes_device_memory = true};
}

TEST(ChooseCommunicator, TakesNcclWhereEachRankHasAGpu) {
  for (const bool aware : {false, true}) {
    Prospects prospects = on_gpus();
    prospects.mpi_takes_device_memory = aware;
    const Choice choice = choose_communicator(prospects);
    EXPECT_EQ(choice.name, "nccl");
    EXPECT_EQ(choice.why, "each of the 4 ranks has a GPU of its own");
  }
}

TEST(ChooseCommunicator, TakesAnMpiThatReadsGpusWhereNcclCannotBeUsed) {
  Prospects prospects = on_gpus();
  prospects.nccl_obstacle = "two ranks share a GPU";
  const Choice choice = choose_communicator(prospects);
  EXPECT_EQ(choice.name, "mpi_cuda");
  EXPECT_THAT(choice.why, HasSubstr("two ranks share a GPU"));
}

TEST(ChooseCommunicator, GoesByWayOfTheHostWhereNothingReadsGpus) {
  Prospects prospects = on_gpus();
  prospects.nccl_obstacle = "not in this build";
  prospects.mpi_takes_device_memory = false;
  const Choice choice = choose_communicator(prospects);
  EXPECT_EQ(choice.name, "mpi_staged");
  EXPECT_THAT(choice.why, HasSubstr("not in this build"));
}

TEST(ChooseCommunicator, TakesMpiWhereNoMemoryOfGpusTravels) {
  Prospects alone = on_gpus();
  alone.ranks = 1;
  Prospects on_processors = on_gpus();
  on_processors.gradients = DataPlace::host;
  for (const Prospects& prospects : {alone, on_processors}) {
    const Choice choice = choose_communicator(prospects);
    EXPECT_EQ(choice.name, "mpi");
    EXPECT_EQ(choice.why, "");
  }
}

}  // namespace
}  // namespace dlscale::backend
