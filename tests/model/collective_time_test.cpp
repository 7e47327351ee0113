// Collectives other than all-reduce.
#include "model/sgd_iter/collective_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "model/calibrate/calibrate.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;
using collective::Collective;

class Collectives : public testing::Test {
 protected:
  CollectiveTimes times(Collective collective, int ranks) {
    return times(collective, Placement{ranks, ranks});
  }
  CollectiveTimes times(Collective collective, const Placement& place) {
    place_ = place;
    all_reduce_.emplace(machine_, place_, schedule_, notes_);
    return {machine_, place_, collective, schedule_, *all_reduce_, notes_};
  }
  [[nodiscard]] double seconds(Collective collective, int ranks, double bytes) {
    return times(collective, ranks).time(Bytes(bytes)).value.si();
  }
  /// As calibrate() would fit one that always takes `time`.
  void add_fit(const std::string& collective, double time, const std::string& waiting) {
    CollectiveFit fit = machine_.collectives.front();
    fit.collective = collective;
    fit.waiting = waiting;
    const Segment segment{Bytes(4), Bytes(1e9), Estimate<Seconds>::exact(Seconds(time)), {}, 0, 3};
    fit.cost = Piecewise({segment});
    machine_.collectives.push_back(fit);
  }
  /// The same on 4 ranks of two nodes.
  void add_fit_across_nodes(const std::string& collective, double time) {
    add_fit(collective, time, "sleep");
    machine_.collectives.back().ranks = 4;
    machine_.collectives.back().ranks_on_node = 2;
  }
  Machine machine_ = calibrate(two_workers(), results(branched(), 8));
  Placement place_;
  Notes notes_;
  std::optional<MessageTimes> all_reduce_;
  Schedule schedule_ = Schedule::wait_free;
};

TEST_F(Collectives, AreAsMeasuredOnTheRanksMeasured) {
  add_fit("reduce", 3, "sleep");
  add_fit("reduce", 5, "spin");
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 3);
  schedule_ = Schedule::sequential;
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 5);
  EXPECT_EQ(times(Collective::reduce, 2).source(Bytes(1e6)), TimeSource::fitted);
  EXPECT_EQ(all(notes_.text()).find("over the link"), std::string::npos);
}

/// Another link was stated than the one that they were measured over.
TEST_F(Collectives, TakeAStatedLinkInPlaceOfOneMeasured) {
  const Placement two_nodes{4, 2};
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e8);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  for (const Collective each : {Collective::reduce, Collective::broadcast,
                                Collective::reduce_scatter, Collective::all_gather}) {
    machine_.inter_node_stated = true;
    const double derived = times(each, two_nodes).time(Bytes(1e6)).value.si();
    const std::string name(to_string(each));
    add_fit_across_nodes(name, 7);
    machine_.inter_node_stated = false;
    EXPECT_EQ(times(each, two_nodes).time(Bytes(1e6)).value.si(), 7) << name;
    machine_.inter_node_stated = true;
    EXPECT_EQ(times(each, two_nodes).time(Bytes(1e6)).value.si(), derived) << name;
    EXPECT_NE(times(each, two_nodes).source(Bytes(1e6)), TimeSource::fitted) << name;
    const std::string notes = all(notes_.text());
    EXPECT_NE(notes.find(name + " measured across nodes was left out"), std::string::npos) << notes;
    EXPECT_NE(notes.find("0.1 GB/s, 1000 us"), std::string::npos) << notes;
    EXPECT_NE(notes.find(name + " was not measured on so many ranks over the link that was stated"),
              std::string::npos)
        << notes;
    add_fit(name, 3, "sleep");  // within a node nothing changes
    EXPECT_EQ(seconds(each, 2, 1e6), 3) << name;
  }
}

TEST_F(Collectives, SayHowRanksMetWhereThatIsNotAsTheyTrain) {
  add_fit("reduce", 5, "spin");
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 5);
  EXPECT_NE(all(notes_.text())
                .find("reduce was not measured with --waiting sleep, as wait_free ranks wait: "
                      "taken from spin"),
            std::string::npos)
      << all(notes_.text());
  notes_ = {};
  schedule_ = Schedule::sequential;
  EXPECT_EQ(seconds(Collective::reduce, 2, 1e6), 5);
  EXPECT_EQ(all(notes_.text()).find("taken from spin"), std::string::npos) << all(notes_.text());
}

TEST_F(Collectives, AreHalvesOfAnAllReduceWhereTheyAreAndSaySo) {
  for (const Collective half : {Collective::reduce_scatter, Collective::all_gather}) {
    for (const int ranks : {2, 8}) {
      const double time = seconds(half, ranks, 1e6);
      EXPECT_EQ(time, 0.5 * all_reduce_->time(Bytes(1e6)).value.si());
    }
  }
  EXPECT_NE(all(notes_.text()).find("all_gather was not measured on so many ranks: taken as half"),
            std::string::npos);
  EXPECT_EQ(times(Collective::all_gather, 8).source(Bytes(1e6)), TimeSource::extrapolated);
}

TEST_F(Collectives, FollowFromTheLinkOfAnAllReduceElseAndSaySo) {
  // On 2 ranks a ring takes 2 α + m β, one message α + m β.
  const double smallest = all_reduce_seconds(4);
  const double whole = all_reduce_seconds(1e6);
  for (const Collective one : {Collective::reduce, Collective::broadcast}) {
    EXPECT_NEAR(seconds(one, 2, 1e6), smallest / 2 + (whole - smallest), 1e-9);
  }
  EXPECT_NE(all(notes_.text()).find("broadcast was not measured on so many ranks"),
            std::string::npos);
}

TEST_F(Collectives, SayTheSameOfEveryNumberOfRanksAndSize) {
  for (const int ranks : {2, 4, 8, 16}) {
    for (const double bytes : {4.0, 1e5, 5e7}) {
      EXPECT_GT(seconds(Collective::broadcast, ranks, bytes), 0);
    }
  }
  const std::vector<std::string> notes = notes_.text();
  const auto of_broadcast = [](const std::string& note) { return note.starts_with("broadcast"); };
  EXPECT_EQ(std::ranges::count_if(notes, of_broadcast), 1) << all(notes);
}

TEST_F(Collectives, TakeTheFasterAlgorithmBySize) {
  // Few bytes go down a tree of 3 steps; of many, each rank sends less by scattering them first.
  const double p = 8;
  const double m = 5e7;
  times(Collective::broadcast, 8);
  const double smallest = all_reduce_->time(Bytes(4)).value.si();
  const double alpha = smallest / (2 * (p - 1));
  EXPECT_NEAR(seconds(Collective::broadcast, 8, 4), 3 * alpha, 1e-12);
  const double beta = (all_reduce_->time(Bytes(m)).value.si() - smallest) / m * p / (2 * (p - 1));
  const double scattered = 6 * alpha + 2 * (p - 1) / p * m * beta;
  EXPECT_LT(scattered, 3 * (alpha + m * beta));
  EXPECT_NEAR(seconds(Collective::broadcast, 8, m), scattered, 1e-9 * scattered);
}

TEST_F(Collectives, CostNothingOnOneRank) {
  EXPECT_EQ(seconds(Collective::reduce, 1, 1e6), 0);
  EXPECT_TRUE(notes_.text().empty()) << all(notes_.text());
}

TEST_F(Collectives, AreThoseThatTrainingUses) {
  EXPECT_THROW(times(Collective::all_to_all, 2), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
