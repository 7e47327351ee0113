#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "bench/runner/runner_flags.hpp"
#include "bench/runner/runner_names.hpp"
#include "core/base/error.hpp"
#include "tests/backend/comm/unheard_communicator.hpp"
#include "tests/core/support.hpp"

namespace dlscale::bench {
namespace {

std::string refusal(const std::string& flag) {
  return test::config_error([&] { static_cast<void>(parse_runner_flags({flag})); });
}

TEST(RunnerFlags, TakeWhatGoogleBenchmarkTakes) {
  const RunnerFlags flags = parse_runner_flags(
      {"--benchmark_filter=conv.*forward", "--benchmark_list_tests", "--benchmark_format=json",
       "--benchmark_out=a=b.json", "--benchmark_repetitions=3", "--benchmark_time_unit=ms"});
  EXPECT_EQ(flags.filter, "conv.*forward");
  EXPECT_TRUE(flags.listing());
  EXPECT_EQ(flags.format, "json");
  EXPECT_EQ(flags.out, "a=b.json");
  EXPECT_EQ(flags.repetitions, 3);
  EXPECT_EQ(flags.time_unit, "ms");
  EXPECT_FALSE(parse_runner_flags({"--benchmark_list_tests=false"}).listing());
}

TEST(RunnerFlags, SayWhatToUseInsteadOfOnesWithoutEffect) {
  EXPECT_NE(refusal("--benchmark_min_time=1").find("--max-time"), std::string::npos);
  EXPECT_NE(refusal("--benchmark_enable_random_interleaving=true").find("--order-seed"),
            std::string::npos);
}

TEST(RunnerFlags, RefuseWrongValuesBeforeGoogleBenchmarkExitsForThem) {
  for (const char* wrong :
       {"--benchmark_format=xml", "--benchmark_out_format=", "--benchmark_repetitions=0",
        "--benchmark_repetitions=two", "--benchmark_repetitions=", "--benchmark_list_tests=maybe",
        "--benchmark_time_unit=h", "--benchmark_filter", "--benchmark_help", "--help", "--v=1",
        "--benchmark_", "filter"}) {
    EXPECT_NE(refusal(wrong), "") << wrong;
  }
}

Cell cell(std::map<std::string, std::string> axes) {
  return {std::move(axes), nullptr};
}

std::vector<std::string> names(std::vector<Cell> cells) {
  std::vector<std::string> result;
  for (const NamedCell& named : name_cells("conv", std::move(cells))) result.push_back(named.name);
  return result;
}

/// Cells without an axis: the backend's layout, and loops as the compiler makes them.
TEST(RunnerNames, TellAnAxisFromNone) {
  EXPECT_EQ(names({cell({{"layer", "res2a"}, {"batch", "8"}}),
                   cell({{"layer", "res2a"}, {"batch", "8"}, {"layout", "nhwc"}})}),
            (std::vector<std::string>{"conv/res2a/batch:8", "conv/res2a/batch:8/layout:nhwc"}));
  EXPECT_EQ(names({cell({{"operation", "copy"}, {"bytes", "4096"}}),
                   cell({{"operation", "copy"}, {"bytes", "4096"}, {"isa", "avx2"}})}),
            (std::vector<std::string>{"conv/copy/bytes:4096", "conv/copy/bytes:4096/isa:avx2"}));
}

TEST(RunnerNames, TellWhatASingleCellIs) {
  const Cell only = cell({{"kernel", "gemm m64"}, {"dtype", "f32"}, {"threads", "1"}});
  EXPECT_EQ(names({only}), (std::vector<std::string>{"conv/kernel:gemm_m64"}));
  EXPECT_EQ(same_in_all({only}), "dtype f32, threads 1");
}

TEST(RunnerNames, LeaveOutOfWhatIsCommonWhatSomeCellsLack) {
  EXPECT_EQ(same_in_all({cell({{"a", "1"}, {"b", "2"}, {"pass", "forward"}}),
                         cell({{"a", "1"}, {"pass", "forward"}}),
                         cell({{"a", "1"}, {"b", "2"}, {"pass", "forward"}})}),
            "a 1");
  EXPECT_EQ(same_in_all({}), "");
}

TEST(RunnerNames, JoinTheAxesThatTellCellsApart) {
  std::map<std::string, std::string> axes{
      {"network", "resnet50"}, {"layer", "res2a"}, {"kernel", "convolution c64"},
      {"pass", "forward"},     {"batch", "8"},     {"threads", "1"}};
  std::vector<Cell> cells;
  for (const char* cache : {"cold", "hot"}) {
    axes["cache"] = cache;
    cells.push_back(cell(axes));
  }
  EXPECT_EQ(names(std::move(cells)),
            (std::vector<std::string>{"conv/resnet50/res2a/forward/batch:8/cache:cold",
                                      "conv/resnet50/res2a/forward/batch:8/cache:hot"}));
}

TEST(RunnerNames, HaveNoSpaces) {
  EXPECT_EQ(names({cell({{"operation", "copy to device"}, {"bytes", "64"}})}).front(),
            "conv/copy_to_device/bytes:64");
}

TEST(RunnerNames, RefuseTwoEqualCells) {
  EXPECT_THROW(names({cell({{"bytes", "64"}}), cell({{"bytes", "64"}})}), ConfigError);
}

// What a rank does of which a library failed while the others may still be in the call.

/// Calls with other ranks; cells have no other way to tell of them.
struct Told {
  int calls = 0;    ///< by now
  int before = 0;   ///< by the time the last cell broke
  int started = 0;  ///< cells
};
Told told;

std::vector<Cell> breaking_cells(Context&) {
  std::vector<Cell> cells;
  for (const char* batch : {"1", "2"}) {
    cells.push_back({{{"batch", batch}}, [](const Sampler&) -> Measurement {
                       ++told.started;
                       told.before = told.calls;
                       throw LibraryError("cudaStreamQuery failed for rank 0's messages.");
                     }});
  }
  return cells;
}

TEST(RunnerFailure, OfALibraryIsToldToNobody) {
  told = {};
  backend::UnheardCommunicator ranks(2, [] { ++told.calls; });
  const Benchmark benchmark{.name = "fake", .doc = "", .axes = {}, .cells = breaking_cells};
  Context context{{}, &ranks};
  testing::internal::CaptureStdout();
  EXPECT_THROW(run_benchmark(benchmark, context, {{}, StoppingCriterion{}, 1}, [](auto&) {}),
               LibraryError);
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(told.started, 1) << "and measured no other cell";
  EXPECT_EQ(told.calls, told.before);
}

}  // namespace
}  // namespace dlscale::bench
