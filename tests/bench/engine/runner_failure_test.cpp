// What a rank does of which a library failed while the others may still be in the call.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "tests/backend/comm/unheard_communicator.hpp"

namespace dlscale::bench {
namespace {

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
