#include "model/sgd_iter/messages/message_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/calibrate/calibrate.hpp"
#include "tests/core/support.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/synthetic_messages.hpp"

/// All-reduce times by themselves.
namespace dlscale::model {
namespace {

using namespace synthetic;

constexpr int message_time_batch = 8;

class Messages : public testing::Test {
 protected:
  [[nodiscard]] double seconds(int ranks, int ranks_per_node, double bytes) {
    return MessageTimes(machine_, {ranks, ranks_per_node}, schedule_, notes_)
        .time(Bytes(bytes))
        .value.si();
  }
  Machine machine_ = calibrate(two_workers(), results(branched(), message_time_batch));
  Notes notes_;
  Schedule schedule_ = Schedule::wait_free;
};

TEST_F(Messages, AreAsMeasuredOnTheRanksMeasured) {
  EXPECT_NEAR(seconds(2, 2, 1e6), all_reduce_seconds(1e6), 1e-9);
  EXPECT_EQ(seconds(1, 2, 1e6), 0);
}

TEST_F(Messages, FollowTheBestAlgorithmBeyond) {
  // From 2 ranks, T = a + b m, each algorithm's link follows; on 4 ranks of one node:
  const double a = 50e-6, b = 0.25e-9;
  for (const double m : {1e5, 1e6, 5e7}) {
    const double ring = 6 * a / 2 + 1.5 * b * m;          // α = a/2, β = b
    const double doubling = 2 * (a + b * m);              // α = a, β = b
    const double rabenseifner = 4 * a / 2 + 1.5 * b * m;  // α = a/2, β = b
    const double best = std::min({ring, doubling, rabenseifner});
    EXPECT_NEAR(seconds(4, 4, m) / best, 1, 0.02) << m;
  }
}

TEST_F(Messages, CostAtLeastTheNominalLinkBetweenNodes) {
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e8);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  // A ring of 4 on 2 nodes, slower than the others because they share the link: 6 α + 1.5 m β.
  EXPECT_NEAR(seconds(4, 2, 1e8), 6e-3 + 1.5 * 1e8 / 1e8, 1e-3);
}

/// As if it had been measured across nodes, where every message takes `seconds`.
CollectiveFit across(int ranks, int ranks_on_node, double seconds) {
  Segment segment;
  segment.from = Bytes(4);
  segment.to = Bytes(1e9);
  segment.alpha = Estimate<Seconds>::exact(Seconds(seconds));
  return {"all_reduce", ranks, ranks_on_node, "sleep", Piecewise({segment}), "across.jsonl"};
}

TEST_F(Messages, TakeAStatedLinkInPlaceOfOneMeasured) {
  machine_.collectives.push_back(across(4, 2, 7));
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e8);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  EXPECT_EQ(seconds(4, 2, 1e8), 7);  // from the cluster's data sheet, which measuring beats
  machine_.inter_node_stated = true;
  EXPECT_NEAR(seconds(4, 2, 1e8), 6e-3 + 1.5 * 1e8 / 1e8, 1e-3);  // as above
  test::expect_contains(all(notes_.all()), "0.1 GB/s, 1000 us");
  EXPECT_NEAR(seconds(2, 2, 1e6), all_reduce_seconds(1e6), 1e-9);  // within a node nothing changes
}

TEST_F(Messages, TakeAStatedLinkWhereAllWasMeasuredAcrossNodes) {
  machine_.collectives = {across(2, 1, 7), across(3, 1, 7)};
  EXPECT_EQ(seconds(2, 1, 1e8), 7);
  machine_.inter_node_stated = true;
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e8);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  EXPECT_NEAR(seconds(2, 1, 1e8), 2e-3 + 1e8 / 1e8, 1e-9);  // a ring of two
  EXPECT_NEAR(seconds(3, 1, 1e8), 4e-3 + 4.0 / 3 * 1e8 / 1e8, 1e-9);
}

TEST_F(Messages, CostWhatTheyCostAfterWaitingAsTheScheduleDoes) {
  CollectiveFit after_spinning = machine_.collectives.front();
  after_spinning.waiting = "spin";
  Segment segment{Bytes(4), Bytes(1e9), Estimate<Seconds>::exact(Seconds(7)), {}, 0, 3};
  after_spinning.cost = Piecewise({segment});
  machine_.collectives.push_back(after_spinning);
  EXPECT_NEAR(seconds(2, 2, 1e6), all_reduce_seconds(1e6), 1e-9);
  schedule_ = Schedule::sequential;
  EXPECT_EQ(seconds(2, 2, 1e6), 7);
  EXPECT_TRUE(notes_.all().empty()) << all(notes_.all());
  machine_.collectives.pop_back();
  EXPECT_NEAR(seconds(2, 2, 1e6), all_reduce_seconds(1e6), 1e-9);
  test::expect_contains(all(notes_.all()), "of ranks waiting by spin was not measured");
}

/// A ring over the links that the all-reduces on 2 ranks cross: as long as those of 2 / p of the
/// message, p - 1 times.
double ring_seconds_on(int ranks, double bytes) {
  return (ranks - 1) * all_reduce_seconds(2 * bytes / ranks);
}

TEST_F(Messages, FollowTheClosedFormFittedToSeveralNumbersOfRanks) {
  auto measured = results(branched(), message_time_batch);
  std::vector<Measurement> more;
  for (const int ranks : {3, 4}) {
    for (const double bytes : powers(1024, 1e8)) {
      more.push_back(message_row("all_reduce", ranks, ranks, bytes, ring_seconds_on(ranks, bytes)));
    }
  }
  measured.push_back(file("more.jsonl", more));
  machine_ = calibrate(two_workers(), measured);
  EXPECT_NEAR(seconds(4, 4, 1e7) / ring_seconds_on(4, 1e7), 1, 1e-3);
  EXPECT_TRUE(notes_.all().empty()) << all(notes_.all());
  for (const double bytes : {8192.0, 1e7}) {
    EXPECT_NEAR(seconds(8, 8, bytes) / ring_seconds_on(8, bytes), 1, 0.02) << bytes;
  }
  test::expect_contains(all(notes_.all()),
                        "all-reduce extrapolated in ranks by the closed form "
                        "of ring, fitted to 2, 3, 4 ranks");
  const Placement eight{8, 8};
  EXPECT_EQ(MessageTimes(machine_, eight, schedule_, notes_).source(Bytes(1e6)),
            TimeSource::extrapolated);
}

/// Messages from one rank to another, α = 20 us and β = 0.5 ns/B up to 64 KiB, 40 us and 0.2 ns/B
/// above.
CollectiveFit message_time_pair(int ranks, int ranks_on_node, const std::string& waiting,
                                double factor = 1) {
  const auto segment = [factor](double from, double to, double alpha, double beta) {
    return Segment{Bytes(from),
                   Bytes(to),
                   Estimate<Seconds>::exact(Seconds(factor * alpha)),
                   Estimate<SecondsPerByte>::exact(SecondsPerByte(factor * beta)),
                   0,
                   3};
  };
  return {"sendrecv",
          ranks,
          ranks_on_node,
          waiting,
          Piecewise({segment(4, 65536, 20e-6, 0.5e-9), segment(65536, 1e9, 40e-6, 0.2e-9)}),
          "pairs.jsonl"};
}

TEST_F(Messages, FollowFromMessagesBetweenTwoRanksWhereNoAllReduceWasMeasured) {
  machine_.collectives = {message_time_pair(2, 1, "sleep")};
  machine_.algorithms.clear();
  machine_.reduction.reset();
  // A ring of 4 or halving and doubling by 4, which starts up less often, both in parts of m / 4
  // and m / 4 … m / 2; few bytes travel whole, twice.
  EXPECT_NEAR(seconds(4, 1, 1e8), 4 * 40e-6 + 1.5 * 1e8 * 0.2e-9, 1e-12);
  EXPECT_NEAR(seconds(4, 1, 64), 2 * (20e-6 + 64 * 0.5e-9), 1e-12);
  test::expect_contains(all(notes_.all()), "summing counts as zero");
  EXPECT_EQ(MessageTimes(machine_, {4, 1}, schedule_, notes_).source(Bytes(64)),
            TimeSource::extrapolated);
  machine_.reduction.emplace();
  machine_.reduction->per_byte = Estimate<SecondsPerByte>::exact(SecondsPerByte(0.1e-9));
  EXPECT_NEAR(seconds(4, 1, 1e8), 4 * 40e-6 + 1e8 * (1.5 * 0.2e-9 + 0.75 * 0.1e-9), 1e-12);
}

TEST_F(Messages, TakeOfSeveralPairsThatOfTheLinksThatTheyCross) {
  machine_.algorithms.clear();
  machine_.collectives = {message_time_pair(2, 2, "sleep"), message_time_pair(3, 1, "sleep", 50),
                          message_time_pair(2, 1, "spin", 100),
                          message_time_pair(2, 1, "sleep", 10)};
  const double within = 20e-6 + 64 * 0.5e-9;
  EXPECT_NEAR(seconds(2, 2, 64), within, 1e-12);
  EXPECT_NEAR(seconds(2, 1, 64), 10 * within, 1e-12);
  schedule_ = Schedule::sequential;
  EXPECT_NEAR(seconds(2, 1, 64), 100 * within, 1e-12);
  // An all-reduce that was measured counts more, and a link that was stated, too.
  machine_.collectives.push_back(across(2, 1, 7));
  EXPECT_EQ(seconds(2, 1, 64), 7);
  machine_.collectives.pop_back();
  machine_.inter_node_stated = true;
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e9);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  EXPECT_NEAR(seconds(2, 1, 64), 2e-3 + 64e-9, 1e-12);
}

TEST_F(Messages, AreAGuessOnMoreRanksWhereFewerDidNotForetellThoseMeasured) {
  auto measured = results(branched(), message_time_batch);
  std::vector<Measurement> more;
  for (const int ranks : {3, 4}) {
    const double jump = ranks == 4 ? 3 : 1;
    for (const double bytes : powers(1024, 1e8)) {
      more.push_back(
          message_row("all_reduce", ranks, ranks, bytes, jump * ring_seconds_on(ranks, bytes)));
    }
  }
  measured.push_back(file("more.jsonl", more));
  machine_ = calibrate(two_workers(), measured);
  EXPECT_GT(seconds(8, 8, 1e7), 0);
  const std::string notes = all(notes_.all());
  test::expect_contains(notes, "all-reduce on more ranks is a guess");
  test::expect_contains(notes, "fitted to fewer ranks, was off by");
}

TEST_F(Messages, GrowWithRanks) {
  double before = 0;
  for (const int ranks : {2, 4, 8, 16, 32, 64}) {
    const double now = seconds(ranks, 64, 1e6);
    EXPECT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace dlscale::model
