#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/comm/traffic/stragglers.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/few_samples.hpp"
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
  backend::run_on_threads(2, [&](backend::Communicator& ranks) {
    Counting counting(ranks);
    const Benchmark& comm = comm_benchmark();
    Context context =
        make_context(comm, {{"sizes", "4KiB"}, {"mode", "persistent"}, {"cache", "hot"}}, counting);
    for (const Cell& cell : comm.cells(context)) {
      EXPECT_TRUE(is_timed(cell.measure(Sampler(counting, few_samples()))));
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
  backend::run_on_threads(2, [&](backend::Communicator& ranks) {
    TwoLibraries two(ranks);
    const Benchmark& comm = comm_benchmark();
    Context context = make_context(comm, values, two);
    const Sampler sampler(two, few_samples());
    int measured = 0;
    for (const Cell& cell : comm.cells(context)) {
      EXPECT_EQ(cell.axes.at("library"), "between hosts");
      EXPECT_THAT(cell.measure(sampler).implementation, HasSubstr("between hosts"));
      ++measured;
    }
    EXPECT_EQ(measured, 2 + 3);
  });
}

constexpr std::size_t calls = 20;

/// Calls of a rank, one a second: how long after the second it enters and leaves each.
std::vector<CommonStay> stays(double entry, double exit) {
  std::vector<CommonStay> all;
  for (std::size_t i = 0; i < calls; ++i) {
    const auto begin = static_cast<double>(i);
    all.push_back({Seconds(begin + entry), Seconds(begin + exit)});
  }
  return all;
}

/// The only warning, or nothing.
std::string named(const RankStays& ranks, Doing doing = Doing::the_same, double unsure = 1e-6) {
  const auto warnings = slow_rank_warnings(ranks, doing, Seconds(unsure));
  EXPECT_LE(warnings.size(), 1U);
  return warnings.empty() ? "" : warnings.front();
}

TEST(SlowRanks, AreNotThoseThatWaitForOneThatStartsLate) {
  // Rank 1 is the shortest in the call, for it comes when all others are there.
  const RankStays late{stays(0, 3e-3), stays(2e-3, 3e-3), stays(0, 3e-3)};
  EXPECT_THAT(named(late), HasSubstr("rank 1 starts last in 100 % of the samples, by 67 % of"));
  EXPECT_THAT(named(late, Doing::their_part), HasSubstr("rank 1 starts last"));
  EXPECT_EQ(named(late, Doing::the_same, 2.1e-3), "");  // the clocks may be further apart
}

TEST(SlowRanks, AreThoseThatLeaveLastWhereAllDoTheSame) {
  const RankStays last{stays(0, 3e-3), stays(0, 3e-3), stays(0, 4e-3)};
  EXPECT_THAT(named(last), HasSubstr("rank 2 is last in 100 % of the samples, by 25 % of"));
  EXPECT_EQ(named(last, Doing::their_part), "");
}

TEST(SlowRanks, AreNoneWhereNobodyStartsOrLeavesLate) {
  EXPECT_EQ(named({stays(0, 1e-3)}), "");
  EXPECT_EQ(named({stays(0, 1e-3), stays(1e-5, 1.02e-3)}), "");
  // A rank that takes longest because it enters early is not slow.
  EXPECT_EQ(named({stays(0, 1e-3), stays(2e-4, 1e-3), stays(2e-4, 1e-3)}), "");
}

TEST(SlowRanks, HaveAShortRemark) {
  const std::vector<std::string> warnings{
      "it is noisy in here", "rank 12 starts last in 95 % of the samples, by 7 % of their time: …"};
  EXPECT_EQ(slow_rank_remark(warnings), " (rank 12 starts last)");
  EXPECT_EQ(slow_rank_remark(std::span(warnings).first(1)), "");
}

TEST(Partners, AreAllOthersOnceAndInEveryRoundEachOthers) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    std::vector<std::vector<Rank>> met;
    met.reserve(static_cast<std::size_t>(ranks));
    for (Rank rank = 0; rank < ranks; ++rank) met.push_back(partners(rank, ranks));
    for (Rank rank = 0; rank < ranks; ++rank) {
      const auto& mine = met[static_cast<std::size_t>(rank)];
      ASSERT_EQ(mine.size(), met.front().size());
      std::set<Rank> others;
      for (std::size_t round = 0; round < mine.size(); ++round) {
        EXPECT_EQ(met[static_cast<std::size_t>(mine[round])][round], rank);
        if (mine[round] != rank) others.insert(mine[round]);
      }
      EXPECT_EQ(others.size(), static_cast<std::size_t>(ranks - 1));
    }
  }
}

}  // namespace
}  // namespace dlscale::bench
