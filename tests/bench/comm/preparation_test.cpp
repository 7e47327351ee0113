#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "bench/benchmark.hpp"
#include "bench/comm/traffic.hpp"
#include "core/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/passing_communicator.hpp"

namespace dlscale::bench {
namespace {

/// Counts what ranks prepare together.
class Counting : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override {
    ++prepared_;
    return PassingCommunicator::prepare(call, mode);
  }
  [[nodiscard]] int prepared() const { return prepared_; }

 private:
  int prepared_ = 0;
};

TEST(Preparation, IsForMemoryUntilThatIsLeft) {
  backend::run_on_threads(2, [](backend::Communicator& ranks) {
    Counting counting(ranks);
    const Message message{
        .collective = "all_reduce", .bytes = 64, .mode = backend::Mode::persistent};
    const auto traffic = make_traffic(counting, message);
    std::vector<std::byte> memory(traffic->memory());
    const auto prepared_after = [&](bool leave) {
      if (leave) traffic->leave();
      traffic->use(memory);
      traffic->write_numbers(memory);
      static_cast<void>(traffic->once());
      EXPECT_EQ(traffic->compare(memory).wrong, 0);
      return counting.prepared();
    };
    EXPECT_EQ(prepared_after(false), 1);
    EXPECT_EQ(prepared_after(false), 1);
    EXPECT_EQ(prepared_after(true), 2);  // what lies there now may be elsewhere on another rank
  });
}

TEST(Preparation, IsNotUpToWhereMemoryLies) {
  StoppingCriterion criterion;
  criterion.min_samples = criterion.max_samples = 6;
  criterion.min_warmup = Seconds(0);
  criterion.min_warmups = 1;
  backend::run_on_threads(2, [&](backend::Communicator& ranks) {
    Counting counting(ranks);
    const Benchmark& comm = *family<Benchmark>().find("comm");
    Context context =
        make_context(comm, {{"sizes", "4KiB"}, {"mode", "persistent"}, {"cache", "hot"}}, counting);
    for (const Cell& cell : comm.cells(context)) {
      EXPECT_TRUE(is_timed(cell.measure(Sampler(counting, criterion))));
    }
    // For the numbers that are checked, for the buffer of the samples, and for numbers once more.
    EXPECT_EQ(counting.prepared(), 3);
  });
}

}  // namespace
}  // namespace dlscale::bench
