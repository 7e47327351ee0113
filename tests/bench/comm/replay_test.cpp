#include "bench/comm/replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/communication_profile.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/backend/comm/groups.hpp"
#include "tests/bench/comm/few_samples.hpp"
#include "tests/bench/comm/passing_communicator.hpp"
#include "tests/train/data/temporary_folder.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Values = std::map<std::string, std::string>;

ProfiledMessage message(const std::string& collective, std::int64_t bytes, double posted) {
  return {.collective = collective,
          .bytes = bytes,
          .posted = {Seconds(posted), Seconds(posted)},
          .wait = {Seconds(1e-4), Seconds(2e-4)},
          .time = {Seconds(3e-4), Seconds(4e-4)}};
}

/// Of two ranks: two iterations, of which the second sends something else at last.
CommunicationProfile profile() {
  CommunicationProfile made;
  made.axes = {{"network", "made"},    {"schedule", "wait_free"}, {"ranks", "2"},
               {"ranks_on_node", "2"}, {"dtype", "bf16"},         {"waiting", "sleep"}};
  made.library = "a library";
  made.iterations = {{message("all_reduce", 4096, 0.001), message("all_reduce", 6000, 0.004)},
                     {message("all_reduce", 4096, 0.001), message("reduce_scatter", 4100, 0.003)}};
  return made;
}

/// A profile on disk.
class ReplayTest : public testing::Test {
 protected:
  void write(const CommunicationProfile& of, bool whole = true) const {
    ResultHeader header;
    header.benchmark = profile_benchmark;
    ResultWriter writer(path(), header);
    for (const Measurement& row : profile_rows(of)) writer.write(row);
    if (whole) writer.finish();
  }

  [[nodiscard]] std::string path() const { return (folder_ / "profile.jsonl").string(); }

  /// Every row of a replay on these ranks, by the name of its message.
  [[nodiscard]] std::map<std::string, Measurement> rows(Communicator& ranks,
                                                        Values values = {}) const {
    values["replay"] = path();
    Context context = make_context(comm_benchmark(), values, ranks);
    StoppingCriterion criterion;
    criterion.min_samples = 6;
    criterion.max_samples = 6;
    criterion.min_warmup = Seconds(0);
    criterion.min_warmups = 1;
    const Sampler sampler(ranks, criterion);
    std::map<std::string, Measurement> all;
    for (const Cell& cell : comm_benchmark().cells(context)) {
      Measurement row = cell.measure(sampler);
      row.axes = cell.axes;
      all.emplace(name_of(row), std::move(row));
    }
    return all;
  }

  static std::string name_of(const Measurement& row) {
    std::string place = row.axes.contains("message") ? row.axes.at("message") : "none";
    if (row.axes.contains("bytes")) {
      return place + " " + row.axes.at("collective") + " " + row.axes.at("bytes");
    }
    return place;
  }

  [[nodiscard]] std::string refused(const Values& more, int ranks = 2) const {
    Values values = more;
    values.try_emplace("replay", path());
    const auto group = backend::local_group(ranks);
    try {
      Context context = make_context(comm_benchmark(), values, *group.front());
      static_cast<void>(comm_benchmark().cells(context));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

 private:
  train::TemporaryFolder folder_;
};

TEST_F(ReplayTest, SendsWhatTheProfileHasInItsOrderAndSizes) {
  write(profile());
  backend::run_on_threads(2, [this](Communicator& ranks) {
    const auto all = rows(ranks);
    std::set<std::string> names;
    for (const auto& [name, row] : all) names.insert(name);
    EXPECT_EQ(names, (std::set<std::string>{"all", "0 all_reduce 4096", "1 all_reduce 6000",
                                            "1 reduce_scatter 4104"}));
    for (const auto& [name, row] : all) {
      EXPECT_TRUE(is_timed(row)) << name << row.reason;
      EXPECT_EQ(row.at("time").samples.size(), 2U);
      EXPECT_EQ(row.axes.at("dtype"), "f32");
      EXPECT_EQ(row.axes.at("recorded_ranks"), "2");
      EXPECT_EQ(row.axes.at("waiting"), "sleep");
      EXPECT_EQ(row.axes.at("network"), "made");
      EXPECT_FALSE(is_sent_as_in_training(row)) << name;
      EXPECT_THAT(row.implementation, HasSubstr("by a library on 2 ranks"));
    }
    // Six iterations in turn: all have the first message, half of them each of the others.
    EXPECT_EQ(all.at("all").at("time").samples[0].size(), 6U);
    EXPECT_EQ(all.at("0 all_reduce 4096").at("time").samples[1].size(), 6U);
    EXPECT_EQ(all.at("1 all_reduce 6000").at("time").samples[1].size(), 3U);
    EXPECT_EQ(all.at("1 all_reduce 6000").work.value().bytes, Bytes(6000));
    EXPECT_EQ(all.at("1 all_reduce 6000").at("recorded").samples,
              (std::vector<std::vector<double>>{{3e-4}, {4e-4}}));
    const auto ends = all.at("all").at("recorded").samples[1];
    ASSERT_EQ(ends.size(), 2U);
    EXPECT_DOUBLE_EQ(ends[0], 0.004 + 2e-4 + 4e-4);
    EXPECT_DOUBLE_EQ(ends[1], 0.003 + 2e-4 + 4e-4);
  });
}

TEST_F(ReplayTest, HandsMessagesOverWhenTheTrainingDid) {
  write(profile());
  backend::run_on_threads(2, [this](Communicator& ranks) {
    const Measurement row = rows(ranks).at("all");
    for (const double time : row.at("time").samples[0]) EXPECT_GE(time, 0.003);
  });
}

TEST_F(ReplayTest, HandsMessagesOverAtOnceIfTold) {
  CommunicationProfile slow = profile();
  for (auto& iteration : slow.iterations) iteration.back().posted = {Seconds(900), Seconds(900)};
  write(slow);
  backend::run_on_threads(2, [this](Communicator& ranks) {
    const Measurement row = rows(ranks, {{"gaps", "none"}}).at("all");
    EXPECT_EQ(row.axes.at("gaps"), "none");
    EXPECT_LT(row.at("time").summary.max, 900);
    EXPECT_GT(row.at("recorded").summary.min, 900);
  });
}

TEST_F(ReplayTest, TakesOtherRanksThanWereRecordedAndSaysSo) {
  write(profile());
  for (const int size : {3, 4}) {
    backend::run_on_threads(size, [this, size](Communicator& ranks) {
      for (const auto& [name, row] : rows(ranks)) {
        EXPECT_TRUE(is_timed(row)) << name << row.reason;
        EXPECT_EQ(row.at("time").samples.size(), static_cast<std::size_t>(size));
        EXPECT_EQ(row.at("recorded").samples.size(), 2U);
        EXPECT_EQ(row.axes.at("ranks"), std::to_string(size));
        EXPECT_THAT(row.warnings, testing::Contains(HasSubstr("recorded on 2 ranks")));
      }
    });
  }
}

TEST_F(ReplayTest, OfATrainingThatWasInterruptedSaysSo) {
  CommunicationProfile cut = profile();
  cut.interruption = "stopped by signal 2 after 2 of 5 iterations";
  write(cut);
  backend::run_on_threads(2, [this](Communicator& ranks) {
    for (const auto& [name, row] : rows(ranks)) {
      EXPECT_THAT(row.warnings, Contains(HasSubstr("after 2 of 5 iterations): 2 of its"))) << name;
    }
  });
}

TEST_F(ReplayTest, IsCarriedOutByTheRanksOfALauncher) {
  backend::Processes::run([this](Communicator& ranks) {
    if (ranks.size() == 1) return;
    write(profile());  // every process its own
    for (const auto& [name, row] : rows(ranks)) EXPECT_TRUE(is_timed(row)) << name << row.reason;
  });
}

TEST_F(ReplayTest, IsCarriedOutAnewOnlyForARowThatWasThere) {
  const std::optional first =
      ReplayedMessage{.place = 0, .collective = "all_reduce", .bytes = 4096};
  backend::run_on_threads(2, [&first](Communicator& ranks) {
    ReplayPlan plan;
    plan.profile = profile();
    plan.gaps = Gaps::none;
    Replay replay(std::move(plan), 2);
    StoppingCriterion criterion;
    criterion.max_samples = criterion.min_samples;
    const Sampler sampler(ranks, criterion);
    const auto whole = replay.measure(std::nullopt, sampler).at("time").samples;
    const auto part = replay.measure(first, sampler).at("time").samples;
    for (std::size_t i = 0; i < part[0].size(); ++i) EXPECT_LE(part[0][i], whole[0][i]);
    EXPECT_NE(replay.measure(first, sampler).at("time").samples, part);
    EXPECT_NE(replay.measure(std::nullopt, sampler).at("time").samples, whole);
  });
}

/// Notes what a rank starts and waits for, in order: "+4096" and "-4096" of a message of that size,
/// "+4096r1" where rank 1 is its root.
class Watched : public PassingCommunicator {
 public:
  explicit Watched(Communicator& to) : PassingCommunicator(to) {}
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override;

  std::string spoils;  ///< the message whose result is made wrong
  std::string order;
  std::set<backend::Mode> modes;
};

class WatchedCollective : public backend::PreparedCollective {
 public:
  WatchedCollective(std::unique_ptr<backend::PreparedCollective> collective, std::string name,
                    std::span<std::byte> result, Watched& watched)
      : collective_(std::move(collective)),
        name_(std::move(name)),
        result_(result),
        watched_(&watched) {}
  void start() override {
    watched_->order += "+" + name_;
    collective_->start();
  }
  void wait() override {
    collective_->wait();
    watched_->order += "-" + name_;
    if (name_ == watched_->spoils) result_.front() ^= std::byte{1};
  }

 private:
  std::unique_ptr<backend::PreparedCollective> collective_;
  std::string name_;
  std::span<std::byte> result_;
  Watched* watched_;
};

std::unique_ptr<backend::PreparedCollective> Watched::prepare(const backend::CollectiveCall& call,
                                                              backend::Mode mode) {
  modes.insert(mode);
  std::string name = std::to_string(backend::message_of(call));
  if (call.root != 0) name += "r" + std::to_string(call.root);
  return std::make_unique<WatchedCollective>(PassingCommunicator::prepare(call, mode),
                                             std::move(name), call.to, *this);
}

/// One iteration of two ranks, carried out once without gaps.
Measurement carry_out(const std::vector<ProfiledMessage>& messages, Communicator& ranks) {
  ReplayPlan plan;
  plan.profile = profile();
  plan.profile.iterations = {messages};
  plan.gaps = Gaps::none;
  Replay replay(std::move(plan), ranks.size());
  StoppingCriterion once;
  once.min_samples = 1;
  once.max_samples = 1;
  once.min_warmup = Seconds(0);
  once.min_warmups = 0;
  return replay.measure(std::nullopt, Sampler(ranks, once));
}

/// What each rank starts and waits for, in the check and then again.
void expect_order(const std::vector<ProfiledMessage>& messages, const std::string& wanted,
                  backend::Mode mode) {
  backend::run_on_threads(2, [&](Communicator& ranks) {
    Watched watched(ranks);
    const Measurement whole = carry_out(messages, watched);
    EXPECT_TRUE(is_timed(whole)) << whole.reason;
    EXPECT_EQ(watched.order, wanted + wanted);
    EXPECT_EQ(watched.modes, std::set{mode});
  });
}

/// Four sums, of which one more, one more and none are under way when the others begin.
std::vector<ProfiledMessage> at_once() {
  std::vector<ProfiledMessage> messages{
      message("all_reduce", 4096, 0), message("all_reduce", 8192, 0),
      message("all_reduce", 1024, 0), message("all_reduce", 2048, 0)};
  messages[1].under_way = 1;
  messages[2].under_way = 1;
  return messages;
}

TEST_F(ReplayTest, KeepsAsManyUnderWayAsTheTraining) {
  expect_order(at_once(), "+4096+8192-4096+1024-8192-1024+2048-2048", backend::Mode::nonblocking);
  expect_order({message("all_reduce", 4096, 0), message("all_gather", 8192, 0)},
               "+4096-4096+8192-8192", backend::Mode::blocking);
}

TEST_F(ReplayTest, HasTheRootsOfTheTraining) {
  std::vector<ProfiledMessage> messages{message("reduce", 4096, 0), message("reduce", 1024, 0),
                                        message("broadcast", 8192, 0)};
  messages[0].root = 1;
  messages[1].root = 0;
  messages[2].root = 3;  // of more ranks than there are
  expect_order(messages, "+4096r1-4096r1+1024-1024+8192r1-8192r1", backend::Mode::blocking);
}

TEST_F(ReplayTest, SaysWhichOfTheMessagesUnderWayCameOutWrong) {
  backend::run_on_threads(2, [](Communicator& ranks) {
    Watched watched(ranks);
    if (ranks.rank() == 1) watched.spoils = "1024";
    const Measurement whole = carry_out(at_once(), watched);
    EXPECT_EQ(whole.status, Status::wrong);
    EXPECT_THAT(whole.reason, HasSubstr("message 2, all_reduce of 1024 B: wrong on 1 of 2 ranks"));
  });
}

TEST_F(ReplayTest, NamesRootsAndWhatAnEarlierVersionDidNotTell) {
  CommunicationProfile served = profile();
  served.iterations[0][1].collective = "broadcast";
  served.iterations[0][1].root = 1;
  write(served);
  const auto rows_are = [this](const auto& expected) {
    backend::run_on_threads(2, [&](Communicator& ranks) {
      for (const auto& [name, row] : rows(ranks, {{"gaps", "none"}})) expected(name, row);
    });
  };
  rows_are([](const std::string& name, const Measurement& row) {
    const bool rooted = name == "1 broadcast 6000";
    EXPECT_EQ(row.axes.contains("root") ? row.axes.at("root") : "", rooted ? "1" : "") << name;
    EXPECT_THAT(row.warnings, Not(Contains(HasSubstr("does not tell")))) << name;
  });
  served.tells_order = false;
  served.iterations[0][1].root.reset();
  write(served);
  rows_are([](const std::string& name, const Measurement& row) {
    EXPECT_THAT(row.warnings, Contains(HasSubstr("the profile does not tell which"))) << name;
  });
  CommunicationProfile plain = profile();  // whose messages all ranks have alike, in turn
  plain.tells_order = false;
  write(plain);
  rows_are([](const std::string& name, const Measurement& row) {
    EXPECT_THAT(row.warnings, Not(Contains(HasSubstr("does not tell")))) << name;
  });
}

TEST_F(ReplayTest, OfOneRankSaysWhyThereIsNothingToMeasure) {
  write(profile());
  backend::run_on_threads(1, [this](Communicator& ranks) {
    const auto all = rows(ranks);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.begin()->second.status, Status::unsupported);
    EXPECT_THAT(all.begin()->second.reason, HasSubstr("replay among 1 rank moves nothing"));
  });
}

TEST_F(ReplayTest, GivesNoTimesWhereTheMemoryIsNotThere) {
  CommunicationProfile huge = profile();
  huge.iterations[0][0].bytes = std::int64_t{1} << 40U;
  write(huge);
  backend::run_on_threads(2, [this](Communicator& ranks) {
    for (const auto& [name, row] : rows(ranks)) {
      EXPECT_EQ(row.status, Status::unsupported) << name;
      EXPECT_THAT(row.reason, HasSubstr("the messages of the replay take"));
      EXPECT_TRUE(row.series.empty());
    }
  });
}

TEST_F(ReplayTest, RefusesOptionsWithoutEffect) {
  write(profile());
  EXPECT_THAT(refused({{"sizes", "4B"}}), HasSubstr("--sizes has no effect on --replay"));
  EXPECT_THAT(refused({{"in_place", "no"}}), HasSubstr("--in-place has no effect on --replay"));
  EXPECT_THAT(refused({{"gaps", "some"}}), HasSubstr("--gaps is \"some\""));
  EXPECT_THAT(refused({{"waiting", "nap"}}), HasSubstr("--waiting is \"nap\""));
  EXPECT_THAT(refused({{"replay", ""}, {"gaps", "none"}}), HasSubstr("no effect without --replay"));
  EXPECT_EQ(refused({{"waiting", "spin"}, {"gaps", "none"}}), "nothing was thrown");
}

TEST_F(ReplayTest, RefusesWhatIsNoWholeProfile) {
  EXPECT_THAT(refused({{"replay", "/no/such/file"}}), HasSubstr("cannot be read"));
  EXPECT_THAT(refused({{"replay", "/dev/zero"}}), HasSubstr("cannot be read"));
  write(profile(), false);
  EXPECT_THAT(refused({}), HasSubstr("ends early"));
  const auto refused_with = [this](const std::function<void(ProfiledMessage&)>& change) {
    CommunicationProfile changed = profile();
    change(changed.iterations[0][1]);
    write(changed);
    return refused({});
  };
  EXPECT_THAT(refused_with([](ProfiledMessage& m) { m.collective = "all_to_none"; }),
              AllOf(HasSubstr("\"all_to_none\", which dlscale does not know"), HasSubstr(path())));
  EXPECT_THAT(refused_with([](ProfiledMessage& m) { m.bytes = 4095; }),
              AllOf(HasSubstr("4095 B, which is not a whole number of f32"), HasSubstr(path())));
  EXPECT_THAT(refused_with([](ProfiledMessage& m) { m.time[1] = Seconds(-1); }),
              HasSubstr("series \"time\" has -1 s"));
  EXPECT_THAT(refused_with([](ProfiledMessage& m) { m.posted[0] = Seconds(1e9); }),
              HasSubstr("a sample of \"posted\" is"));
}

}  // namespace
}  // namespace dlscale::bench
