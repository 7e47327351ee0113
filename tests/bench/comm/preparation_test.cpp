#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/passing_communicator.hpp"

namespace dlscale::bench {
namespace {

/// Passes on to another, and is counted while it lives.
class Counted : public backend::PreparedCollective {
 public:
  Counted(std::unique_ptr<backend::PreparedCollective> to, int& alive)
      : to_(std::move(to)), alive_(&alive) {
    ++*alive_;
  }
  ~Counted() override { --*alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void start() override { to_->start(); }
  void wait() override { to_->wait(); }
  [[nodiscard]] bool test() override { return to_->test(); }

 private:
  std::unique_ptr<backend::PreparedCollective> to_;
  int* alive_;
};

/// Counts what ranks prepare together, and what is left of it when they share something else.
class Counting : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override {
    ++prepared_;
    return std::make_unique<Counted>(PassingCommunicator::prepare(call, mode), alive_);
  }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    left_[prepared_].push_back(alive_);
    PassingCommunicator::all_gather(mine, all);
  }
  [[nodiscard]] int prepared() const { return prepared_; }
  /// Of each time that ranks shared something when so many had been prepared.
  [[nodiscard]] const std::vector<int>& left_when(int prepared) { return left_[prepared]; }

 private:
  int prepared_ = 0;
  int alive_ = 0;
  std::map<int, std::vector<int>> left_;
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
    // What is wrong with numbers is shared when their memory has been left.
    for (const int numbers : {1, 3}) {
      const std::vector<int>& left = counting.left_when(numbers);
      EXPECT_FALSE(left.empty());
      EXPECT_TRUE(std::ranges::all_of(left, [](int alive) { return alive == 0; }));
    }
  });
}

}  // namespace
}  // namespace dlscale::bench
