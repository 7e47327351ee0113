#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/comm/connect.hpp"
#include "backend/comm/elements.hpp"
#include "backend/comm/launch.hpp"
#include "backend/comm/mpi/chunks.hpp"
#include "backend/comm/same_settings.hpp"
#include "backend/comm/together.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

std::vector<std::byte> made_of(ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    write_element(type, values[i], bytes.data() + i * size_of(type));
  }
  return bytes;
}

double combined(ElementType type, Reduction op, double a, double b) {
  std::vector<std::byte> accumulated = made_of(type, {a});
  combine(type, op, made_of(type, {b}), accumulated);
  return read_element(type, accumulated.data());
}

/// What ranks that were started apart may differ in, and the words that name it.
struct Difference {
  std::vector<Settings> ranks;
  std::string said;
};

const std::vector<Difference> differences{
    {{{{"--rate", "0.01"}}, {{"--rate", "0.1"}}},
     "--rate is 0.01 on rank 0, but 0.1 on rank 1. The ranks"},
    {{{{"--dtype", "f32"}}, {{"--dtype", "f32"}}, {{"--dtype", "bf16"}}, {{"--dtype", "f32"}}},
     "--dtype is f32 on ranks 0-1, 3, but bf16 on rank 2. "},
    {{{{"--batch", "8"}, {"--network", "alexnet"}}, {{"--batch", "16"}, {"--network", "resnet50"}}},
     "--batch is 8 on rank 0, but 16 on rank 1 (--network differs too). "},
    {{{{"--seed", "1"}, {"--rate", "1"}, {"--batch", "1"}},
      {{"--seed", "2"}, {"--rate", "2"}, {"--batch", "2"}}},
     "--batch is 1 on rank 0, but 2 on rank 1 (--rate, --seed differ too). "},
    {{{{"the command", "e2e"}, {"--rate", "0.01"}}, {{"the command", "comm"}}},
     "--rate is 0.01 on rank 0, but not set on rank 1 (the command differs too). "},
    {{{{"--trace", ""}}, {{"--trace", "t"}}}, "--trace is empty on rank 0, but t on rank 1. "},
    {{{{"--seed", "0"}}, {{"--seed", "1"}}, {{"--seed", "2"}}, {{"--seed", "3"}}},
     "--seed is 0 on rank 0, but 1 on rank 1, 2 on rank 2, and has 1 more values. "},
    {{{{"--network", std::string(90, 'x') + "a"}}, {{"--network", std::string(90, 'x') + "b"}}},
     "--network is xxx"}};

TEST(SameSettings, NameTheSettingAndTheRanksThatDiffer) {
  for (const auto& [ranks, said] : differences) {
    EXPECT_THAT(difference_of_settings(ranks), testing::StartsWith(said));
  }
  EXPECT_EQ(difference_of_settings(std::vector<Settings>(3, {{"--rate", "1"}})), "");
}

TEST(SameSettings, EndAllRanksWithTheSameSentence) {
  for (const auto& [ranks, said] : differences) {
    std::vector<std::string> ends(ranks.size());
    auto group = local_group(static_cast<int>(ranks.size()));
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        threads.emplace_back([&, rank] {
          try {
            expect_same_settings(*group[rank], ranks.front());
            expect_same_settings(*group[rank], ranks[rank]);
          } catch (const FoundByAll& error) {
            EXPECT_EQ(error.code(), ExitCode::bad_input);
            ends[rank] = error.what();
          }
        });
      }
    }
    EXPECT_THAT(ends, testing::Each(difference_of_settings(ranks)));
  }
}

constexpr std::array floats{ElementType::f32, ElementType::f64, ElementType::bf16,
                            ElementType::f16};
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Elements, HaveNamesAndSizesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const ElementType type : element_types) names.insert(to_string(type));
  for (const Reduction op : reductions) names.insert(to_string(op));
  EXPECT_EQ(names.size(), element_types.size() + reductions.size());
  EXPECT_EQ(size_of(ElementType::f64), 8U);
  EXPECT_EQ(size_of(ElementType::i64), 8U);
  EXPECT_EQ(size_of(ElementType::f32), 4U);
  EXPECT_EQ(size_of(ElementType::i32), 4U);
  EXPECT_EQ(size_of(ElementType::bf16), 2U);
  EXPECT_EQ(size_of(ElementType::f16), 2U);
  EXPECT_EQ(size_of(ElementType::u8), 1U);
}

TEST(Elements, HoldWholeNumbersUpToTheLargestSaid) {
  for (const ElementType type : element_types) {
    const double largest = largest_whole(type);
    for (const double value : {0.0, 1.0, 2.0, largest - 1, largest}) {
      EXPECT_EQ(read_element(type, made_of(type, {value}).data()), value) << to_string(type);
    }
  }
  // The next one is none of them.
  for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    const double next = largest_whole(type) + 1;
    EXPECT_NE(read_element(type, made_of(type, {next}).data()), next) << to_string(type);
  }
}

TEST(Combine, MakesSumMaximumAndMinimumOfEveryElement) {
  for (const ElementType type : element_types) {
    std::vector<std::byte> sums = made_of(type, {1, 2, 100, 7, 0});
    std::vector<std::byte> large = sums;
    std::vector<std::byte> small = sums;
    const std::vector<std::byte> other = made_of(type, {3, 2, 27, 0, 9});
    combine(type, Reduction::sum, other, sums);
    combine(type, Reduction::max, other, large);
    combine(type, Reduction::min, other, small);
    EXPECT_EQ(sums, made_of(type, {4, 4, 127, 7, 9})) << to_string(type);
    EXPECT_EQ(large, made_of(type, {3, 2, 100, 7, 9})) << to_string(type);
    EXPECT_EQ(small, made_of(type, {1, 2, 27, 0, 0})) << to_string(type);
  }
}

TEST(Combine, ReadsAndWritesAtAnyAddress) {
  std::vector<std::byte> bytes(1 + 2 * sizeof(double));
  write_element(ElementType::f64, 2.5, bytes.data() + 1);
  write_element(ElementType::f64, 4.0, bytes.data() + 1 + sizeof(double));
  const std::span<std::byte> all(bytes);
  combine(ElementType::f64, Reduction::sum, all.subspan(1 + sizeof(double)),
          all.subspan(1, sizeof(double)));
  EXPECT_EQ(read_element(ElementType::f64, bytes.data() + 1), 6.5);
}

TEST(Combine, RoundsSumsOfHalvesToTheNearestAndTiesToEven) {
  // Steps of bf16 are 2 from 256 on, those of f16 from 2048 on.
  for (const auto& [type, start] :
       {std::pair(ElementType::bf16, 256.0), std::pair(ElementType::f16, 2048.0)}) {
    EXPECT_EQ(combined(type, Reduction::sum, start, 1), start);
    EXPECT_EQ(combined(type, Reduction::sum, start + 2, 1), start + 4);
    EXPECT_EQ(combined(type, Reduction::sum, start, 1.25), start + 2);
  }
}

TEST(Combine, OverflowsToInfinity) {
  EXPECT_EQ(combined(ElementType::f16, Reduction::sum, 65504, 15), 65504);
  EXPECT_EQ(combined(ElementType::f16, Reduction::sum, 65504, 16), infinity);
  EXPECT_EQ(combined(ElementType::f16, Reduction::sum, -65504, -65504), -infinity);
  const double largest_bf16 = 0x1.FEp127;
  EXPECT_EQ(combined(ElementType::bf16, Reduction::sum, largest_bf16, largest_bf16), infinity);
  const double largest_f32 = std::numeric_limits<float>::max();
  EXPECT_EQ(combined(ElementType::f32, Reduction::sum, largest_f32, largest_f32), infinity);
}

TEST(Combine, WrapsSumsOfWholeNumbersAround) {
  EXPECT_EQ(combined(ElementType::u8, Reduction::sum, 200, 100), 44);
  EXPECT_EQ(combined(ElementType::i32, Reduction::sum, 2147483647.0, 1), -2147483648.0);
  EXPECT_EQ(combined(ElementType::i64, Reduction::sum, -0x1p63, -0x1p63), 0);
}

TEST(Combine, LetsNoNanGetLost) {
  for (const ElementType type : floats) {
    for (const Reduction op : reductions) {
      for (const double other : {1.0, -infinity, infinity, nan}) {
        EXPECT_TRUE(std::isnan(combined(type, op, nan, other))) << to_string(type);
        EXPECT_TRUE(std::isnan(combined(type, op, other, nan))) << to_string(type);
      }
    }
    EXPECT_TRUE(std::isnan(combined(type, Reduction::sum, infinity, -infinity)));
    EXPECT_EQ(combined(type, Reduction::max, -infinity, 3), 3);
    EXPECT_EQ(combined(type, Reduction::min, infinity, 3), 3);
  }
}

TEST(Combine, KeepsOneOfTwoZeros) {
  for (const ElementType type : floats) {
    for (const Reduction op : {Reduction::max, Reduction::min}) {
      EXPECT_EQ(combined(type, op, 0.0, -0.0), 0.0) << to_string(type);
    }
  }
}

TEST(Combine, TellsSignsOfNumbers) {
  for (const ElementType type : element_types) {
    if (type == ElementType::u8) continue;
    EXPECT_EQ(combined(type, Reduction::max, -5, 3), 3) << to_string(type);
    EXPECT_EQ(combined(type, Reduction::min, -5, 3), -5) << to_string(type);
    EXPECT_EQ(combined(type, Reduction::max, -5, -3), -3) << to_string(type);
  }
}

TEST(Combine, RefusesSidesOfDifferentSizes) {
  std::vector<std::byte> accumulated(8);
  EXPECT_THROW(combine(ElementType::f32, Reduction::sum, std::vector<std::byte>(4), accumulated),
               std::logic_error);
  std::vector<std::byte> odd(6);
  EXPECT_THROW(combine(ElementType::f32, Reduction::sum, std::vector<std::byte>(6), odd),
               std::logic_error);
}

using Pieces = std::vector<std::pair<std::size_t, int>>;

Pieces chunks(std::size_t count, std::size_t limit) {
  Pieces pieces;
  for_each_chunk(count, limit,
                 [&](std::size_t offset, int size) { pieces.emplace_back(offset, size); });
  return pieces;
}

TEST(Chunks, CutALargeMessageAndSendASmallOneWhole) {
  EXPECT_EQ(chunks(10, 4), (Pieces{{0, 4}, {4, 4}, {8, 2}}));
  EXPECT_EQ(chunks(8, 4), (Pieces{{0, 4}, {4, 4}}));
  EXPECT_EQ(chunks(4, 4), (Pieces{{0, 4}}));
  EXPECT_EQ(chunks(1, 4), (Pieces{{0, 1}}));
  EXPECT_EQ(chunks(0, 4), (Pieces{{0, 0}}));
}

TEST(Chunks, CoverMoreElementsThanAnIntCounts) {
  const std::size_t count = 3 * static_cast<std::size_t>(INT_MAX) + 5;
  std::size_t next = 0;
  for (const auto& [offset, size] : chunks(count, largest_chunk)) {
    EXPECT_EQ(offset, next);
    EXPECT_GT(size, 0);
    next += static_cast<std::size_t>(size);
  }
  EXPECT_EQ(next, count);
}

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

std::optional<Launch> launch_of(const Variables& variables) {
  return detect_launch([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(DetectLaunch, ReadsTheSizeThatTheLauncherTells) {
  constexpr int unknown = 0;
  for (const auto& [variables, size] : std::vector<std::pair<Variables, int>>{
           {{{"OMPI_COMM_WORLD_SIZE", "4"}}, 4},
           {{{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}}, 3},
           {{{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}}, 8},
           {{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}}, 8},
           {{{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "6"}}, 6},
           // The inner launcher inside a step of Slurm; PALS sets the variables of PMI, too.
           {{{"OMPI_COMM_WORLD_SIZE", "16"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}},
            16},
           {{{"PALS_RANKID", "0"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, 4},
           {{{"PMIX_RANK", "0"}}, unknown},
           {{{"MPI_LOCALNRANKS", "2"}}, unknown},
           {{{"JSM_NAMESPACE_RANK", "2"}}, unknown},
           {{{"OMPI_COMM_WORLD_SIZE", "two"}}, unknown},
           {{{"OMPI_COMM_WORLD_SIZE", "-2"}}, unknown},
           {{{"OMPI_COMM_WORLD_SIZE", "2x"}}, unknown},
           {{{"OMPI_COMM_WORLD_SIZE", ""}}, unknown}}) {
    const auto launch = launch_of(variables);
    ASSERT_TRUE(launch) << variables.begin()->first;
    EXPECT_EQ(launch->size, size) << variables.begin()->first;
  }
  EXPECT_EQ(launch_of({{"JSM_NAMESPACE_RANK", "1"}, {"JSM_NAMESPACE_SIZE", "6"}})->variable,
            "JSM_NAMESPACE_SIZE");
  EXPECT_EQ(launch_of({{"PALS_RANKID", "0"}})->launcher, "PALS");
}

TEST(DetectLaunch, TakesNoPlainShellOrBatchScriptForAParallelJob) {
  EXPECT_FALSE(launch_of({{"HOME", "/root"}}).has_value());
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

TEST(ChooseCommunicator, TakesWhatReadsGpusElseTheHost) {
  struct Expected {
    std::string nccl_obstacle;
    bool aware;  ///< of GPUs: MPI
    std::string name, why;
  };
  for (const Expected& expected :
       {Expected{"", false, "nccl", "each of the 4 ranks has a GPU of its own"},
        Expected{"", true, "nccl", "each of the 4 ranks has a GPU of its own"},
        Expected{"two ranks share a GPU", true, "mpi_cuda", "two ranks share a GPU"},
        Expected{"not in this build", false, "mpi_staged", "not in this build"}}) {
    Prospects prospects = on_gpus();
    prospects.nccl_obstacle = expected.nccl_obstacle;
    prospects.mpi_takes_device_memory = expected.aware;
    const Choice choice = choose_communicator(prospects);
    EXPECT_EQ(choice.name, expected.name);
    EXPECT_THAT(choice.why, HasSubstr(expected.why));
  }
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
  for (const auto& error : errors) EXPECT_FALSE(is_collective_failure(error));
  EXPECT_TRUE(is_collective_failure(std::make_exception_ptr(LibraryError("cudaMalloc failed."))));
  EXPECT_EQ(exit_code_of(errors[1]), static_cast<int>(ExitCode::wrong_result));
}

}  // namespace
}  // namespace dlscale::backend
