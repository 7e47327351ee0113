#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/engine/benchmark.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/passing_communicator.hpp"

namespace dlscale::bench {
namespace {

using testing::HasSubstr;

/// As NCCL's: memory of GPUs goes by another library than that of hosts.
class TwoLibraries : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  [[nodiscard]] std::string library() const override { return "between GPUs"; }
  [[nodiscard]] std::string host_library() const override { return "between hosts"; }
};

TEST(BenchComm, NamesTheLibraryThatCarriesMemoryOfHosts) {
  const std::map<std::string, std::string> values{
      {"collectives", "all_reduce,pairs,sendrecv,barrier"},
      {"sizes", "4KiB"},
      {"algorithm", "library,ring"},
      {"cache", "hot"}};
  StoppingCriterion criterion;
  criterion.min_samples = criterion.max_samples = 6;
  criterion.min_warmup = Seconds(0);
  criterion.min_warmups = 1;
  backend::run_on_threads(2, [&](backend::Communicator& ranks) {
    TwoLibraries two(ranks);
    const Benchmark& comm = *family<Benchmark>().find("comm");
    Context context = make_context(comm, values, two);
    const Sampler sampler(two, criterion);
    int measured = 0;
    for (const Cell& cell : comm.cells(context)) {
      EXPECT_EQ(cell.axes.at("library"), "between hosts");
      EXPECT_THAT(cell.measure(sampler).implementation, HasSubstr("between hosts"));
      ++measured;
    }
    EXPECT_EQ(measured, 2 + 3);
  });
}

}  // namespace
}  // namespace dlscale::bench
