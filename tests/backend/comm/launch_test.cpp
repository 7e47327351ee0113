#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <map>
#include <new>
#include <thread>
#include <vector>

#include "backend/comm/connect.hpp"
#include "backend/comm/launch.hpp"
#include "backend/comm/together.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

using testing::HasSubstr;

std::optional<Launch> launch_of(const std::map<std::string, std::string>& variables) {
  return detect_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(DetectLaunch, SeesNoLauncherInAPlainShell) {
  EXPECT_FALSE(launch_of({{"HOME", "/root"}}).has_value());
}

TEST(DetectLaunch, ReadsTheSizeOfEachLauncher) {
  EXPECT_EQ(launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}})->size, 4);
  EXPECT_EQ(launch_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}})->size, 3);
  EXPECT_EQ(launch_of({{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}})->size, 8);
  EXPECT_EQ(launch_of({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}})->size, 8);
  const auto jsrun = launch_of({{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "6"}});
  ASSERT_TRUE(jsrun);
  EXPECT_EQ(jsrun->size, 6);
  EXPECT_EQ(jsrun->variable, "JSM_NAMESPACE_SIZE");
}

TEST(DetectLaunch, LeavesTheSizeOpenWhereTheLauncherDoesNotTell) {
  EXPECT_EQ(launch_of({{"PMIX_RANK", "0"}})->size, 0);
  EXPECT_EQ(launch_of({{"MPI_LOCALNRANKS", "2"}})->size, 0);
  EXPECT_EQ(launch_of({{"JSM_NAMESPACE_RANK", "2"}})->size, 0);
  EXPECT_EQ(launch_of({{"PALS_RANKID", "0"}})->launcher, "PALS");
}

TEST(DetectLaunch, DoesNotTrustAnUnreadableSize) {
  EXPECT_EQ(launch_of({{"OMPI_COMM_WORLD_SIZE", "two"}})->size, 0);
  EXPECT_EQ(launch_of({{"OMPI_COMM_WORLD_SIZE", "-2"}})->size, 0);
  EXPECT_EQ(launch_of({{"OMPI_COMM_WORLD_SIZE", "2x"}})->size, 0);
  EXPECT_EQ(launch_of({{"OMPI_COMM_WORLD_SIZE", ""}})->size, 0);
}

TEST(DetectLaunch, TakesTheInnerLauncherInsideASlurmStep) {
  const auto launch = launch_of(
      {{"OMPI_COMM_WORLD_SIZE", "16"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(launch->size, 16);
  EXPECT_EQ(launch_of({{"PALS_RANKID", "0"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}})->size, 4)
      << "PALS sets the variables of PMI, too";
}

TEST(DetectLaunch, DoesNotTakeABatchScriptForAParallelJob) {
  EXPECT_FALSE(launch_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).has_value());
  EXPECT_FALSE(launch_of({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}).has_value());
}

World world(const std::string& library, int size) {
  return {.library = library,
          .size = size,
          .launch = std::nullopt,
          .expected = 0,
          .mpiexec = "mpirun.openmpi",
          .invocation = "dlscale bench comm"};
}

TEST(WorldProblem, IsNoneWhenAllAgree) {
  World agreed = world("Open MPI 4.1.4", 2);
  EXPECT_EQ(world_problem(agreed), "");
  agreed.launch = Launch{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", 2};
  agreed.expected = 2;
  EXPECT_EQ(world_problem(agreed), "");
  agreed.launch->size = 0;
  EXPECT_EQ(world_problem(agreed), "");
}

TEST(WorldProblem, NamesBothSidesWhenTheLauncherIsOfAnotherMpi) {
  World wrong = world("Open MPI 4.1.4", 1);
  wrong.launch = Launch{"MPICH's mpiexec", "PMI_SIZE", 2};
  const std::string text = world_problem(wrong);
  EXPECT_THAT(text, HasSubstr("MPICH's mpiexec started 2 ranks (PMI_SIZE=2)"));
  EXPECT_THAT(text, HasSubstr("Open MPI 4.1.4"));
  EXPECT_THAT(text, HasSubstr("does not understand this launcher"));
  EXPECT_THAT(text, HasSubstr("Type: mpirun.openmpi -n 2 dlscale bench comm"));
}

TEST(WorldProblem, SuspectsTheVersionWhenTheLauncherIsOfTheSameMpi) {
  World wrong = world("MPICH 4.2.0", 1);
  wrong.launch = Launch{"MPICH's mpiexec", "PMI_SIZE", 2};
  EXPECT_THAT(world_problem(wrong), HasSubstr("another version"));
}

TEST(WorldProblem, SaysWhatToTypeWhenTooFewRanksRun) {
  World few = world("local", 1);
  few.expected = 2;
  EXPECT_EQ(
      world_problem(few),
      "2 ranks were asked for, but 1 runs here. Type: mpirun.openmpi -n 2 dlscale bench comm");
}

TEST(WorldProblem, AsksForAnMpiWhereTheBuildHasNone) {
  World few = world("local", 1);
  few.mpiexec = "";
  few.expected = 2;
  EXPECT_THAT(world_problem(few), HasSubstr("install libopenmpi-dev or libmpich-dev"));
}

TEST(ShellText, QuotesWhatAShellWouldChange) {
  using namespace std::string_literals;
  EXPECT_EQ(shell_text("dlscale\0bench\0comm\0"s), "dlscale bench comm");
  EXPECT_EQ(shell_text("a b\0it's\0\0"s), "'a b' 'it'\\''s' ''");
  EXPECT_EQ(shell_text(""), "");
}

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

// Errors that several ranks throw together, and the one that rank 0 reports for all.

/// By rank, what two ranks throw that do `work` of a rank together.
std::vector<std::exception_ptr> thrown(const std::function<void(int)>& work) {
  auto group = local_group(2);
  std::vector<std::exception_ptr> errors(group.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        together_on_input(*group[rank], [&] { work(static_cast<int>(rank)); });
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  threads.clear();
  return errors;
}

TEST(Together, WhatAllFindWrongIsSaidForAll) {
  for (const auto& error : thrown([](int) { throw ConfigError("wrong"); })) {
    EXPECT_THROW(std::rethrow_exception(error), FoundByAll);
  }
}

TEST(Together, WhatDiffersIsEachRanksOwn) {
  const auto errors = thrown([](int rank) { throw ConfigError(rank == 0 ? "wrong" : "bad"); });
  for (const auto& error : errors) EXPECT_THROW(std::rethrow_exception(error), ConfigError);
}

TEST(Together, MemoryThatRanOutEverywhereStaysThat) {
  for (const auto& error : thrown([](int) { throw std::bad_alloc(); })) {
    EXPECT_THROW(std::rethrow_exception(error), std::bad_alloc);
  }
}

/// It must not be taken for one that nobody else knows of (core/base/error.hpp).
TEST(Together, AFailureOfALibraryThatAllWereToldOfLeavesThemInStep) {
  const auto errors = thrown([](int rank) {
    if (rank == 1) throw LibraryError("cudaMalloc failed.");
  });
  for (const auto& error : errors) EXPECT_FALSE(leaves_ranks_apart(error));
  EXPECT_TRUE(leaves_ranks_apart(std::make_exception_ptr(LibraryError("cudaMalloc failed."))));
  EXPECT_EQ(exit_code_of(errors[1]), static_cast<int>(ExitCode::wrong_result));
}

}  // namespace
}  // namespace dlscale::backend
