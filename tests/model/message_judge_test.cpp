#include "model/communication/message_judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic_messages.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

MessageFamily rings() {
  MessageFamily family = all_reduces(
      {{2, 2}, {3, 3}, {4, 4}}, powers(64, 1 << 26),
      [](const Placement& layout, double bytes) { return ring_seconds(layout.ranks, bytes); });
  family.algorithm = "ring";
  return family;
}

bool is_held_out(const MessageSample& sample, int most_ranks) {
  return sample.layout.ranks > most_ranks || half_of_size(sample.bytes) == Half::judging;
}

std::vector<double> predictions(const MessageFamily& family) {
  const MessageJudgement judgement = judge_messages(std::vector{family});
  std::vector<double> times;
  for (const JudgedMessage& judged : judgement.families.front().messages) {
    times.push_back(judged.prediction.time.value.si());
  }
  return times;
}

TEST(SizeSplit, PutsNeighboursOnOneSideAndHalfOfTheOctavesOnEach) {
  for (int k = 3; k < 30; ++k) {
    const double power = std::ldexp(1.0, k);
    EXPECT_EQ(half_of_size(Bytes(power)), half_of_size(Bytes(power + 1))) << k;
    EXPECT_EQ(half_of_size(Bytes(power)), half_of_size(Bytes(power - 1))) << k;
    if (k % 2 == 0) {
      EXPECT_NE(half_of_size(Bytes(power)), half_of_size(Bytes(2 * power))) << k;
    }
  }
}

TEST(SizeSplit, IsNoPlainAlternation) {
  std::set<Half> of_even_octaves;
  for (int k = 2; k < 30; k += 2) of_even_octaves.insert(half_of_size(Bytes(std::ldexp(1.0, k))));
  EXPECT_EQ(of_even_octaves.size(), 2U);
}

TEST(MessageJudge, JudgesExactlyWhatWasHeldOut) {
  const MessageFamily family = rings();
  const MessageJudgement judgement = judge_messages(std::vector{family});
  ASSERT_EQ(judgement.families.size(), 1U);
  const FamilyJudgement& judged = judgement.families.front();
  EXPECT_EQ(judged.most_ranks, 3);
  EXPECT_EQ(judged.not_judged, 0);
  const auto held_out = std::ranges::count_if(
      family.samples, [](const MessageSample& sample) { return is_held_out(sample, 3); });
  EXPECT_EQ(std::ssize(judged.messages), held_out);
  for (const JudgedMessage& message : judged.messages) {
    EXPECT_TRUE(is_held_out(message.sample, 3));
    EXPECT_EQ(message.unseen, message.sample.layout.ranks == 4 ? HeldOut::ranks : HeldOut::sizes);
  }
}

/// Were one of the held-out times part of the fit, its change would change a prediction.
TEST(MessageJudge, PredictsWithoutHavingSeenTheResults) {
  const std::vector<double> before = predictions(rings());
  const MessageFamily family = rings();
  for (std::size_t i = 0; i < family.samples.size(); ++i) {
    MessageFamily changed = family;
    changed.samples[i].time = 3 * changed.samples[i].time;
    if (is_held_out(family.samples[i], 3)) {
      EXPECT_EQ(predictions(changed), before) << i;
    } else {
      EXPECT_NE(predictions(changed), before) << i;
    }
  }
}

/// The formula is chosen among several, but not by how it does on the ranks that it is judged on.
TEST(MessageJudge, ChoosesWithoutHavingSeenTheResults) {
  MessageFamily family = all_reduces(
      {{2, 2}, {3, 3}, {4, 4}, {8, 8}}, powers(64, 1 << 20),
      [](const Placement& layout, double bytes) { return ring_seconds(layout.ranks, bytes); });
  const std::vector<double> before = predictions(family);
  for (MessageSample& sample : family.samples) {
    if (sample.layout.ranks == 8) sample.time = 0.2 * sample.time;
  }
  EXPECT_EQ(predictions(family), before);
}

TEST(MessageJudge, FindsAnExactModelRightAndAStraightLineWrong) {
  const MessageJudgement judgement = judge_messages(std::vector{rings()});
  for (const HeldOut unseen : {HeldOut::sizes, HeldOut::ranks}) {
    std::vector<const JudgedMessage*> messages;
    for (const JudgedMessage& message : judgement.families.front().messages) {
      if (message.unseen == unseen) messages.push_back(&message);
    }
    const MessageErrors errors = errors_of(messages);
    EXPECT_LT(errors.median, 0.01);
    EXPECT_GT(errors.naive_median, 0.05);
    EXPECT_EQ(errors.messages, std::ssize(messages));
  }
}

TEST(MessageJudge, FitsToNoMoreRanksThanItIsTold) {
  const MessageJudgement judgement = judge_messages(std::vector{rings()}, 2);
  const FamilyJudgement& judged = judgement.families.front();
  ASSERT_EQ(judged.fit.layouts.size(), 1U);
  EXPECT_EQ(judged.fit.layouts.front().layout.ranks, 2);
  EXPECT_FALSE(judged.fit.ranges.empty());  // the algorithm is known, so one layout is enough
}

TEST(MessageJudge, TakesTheSidesThatResultsState) {
  MessageFamily family = rings();
  for (MessageSample& sample : family.samples) {
    sample.half = sample.layout.ranks == 4 ? Half::judging : Half::training;
  }
  const MessageJudgement judgement = judge_messages(std::vector{family}, 4);
  std::vector<const JudgedMessage*> messages;
  for (const JudgedMessage& message : judgement.families.front().messages) {
    EXPECT_EQ(message.sample.layout.ranks, 4);
    messages.push_back(&message);
  }
  EXPECT_EQ(messages.size(), powers(64, 1 << 26).size());
  EXPECT_LT(errors_of(messages).median, 0.01);
}

TEST(MessageJudge, LeavesOutByNameWhatCannotBeJudged) {
  MessageFamily lonely = rings();
  lonely.samples.resize(1);
  const MessageJudgement judgement = judge_messages(std::vector{rings(), lonely});
  ASSERT_EQ(judgement.left_out.size(), 1U);
  test::expect_contains(judgement.left_out.front(), "all_reduce by ring");
  EXPECT_THROW(judge_messages(std::vector{lonely}), ConfigError);
}

TEST(MessageFamilies, KeepApartWhatDiffersInMoreThanSizeAndRanks) {
  std::vector<Measurement> rows;
  for (const double bytes : {64.0, 128.0}) {
    for (const int ranks : {2, 3}) {
      rows.push_back(message_row("all_reduce", ranks, ranks, bytes, 1e-6));
      rows.push_back(message_row("broadcast", ranks, ranks, bytes, 1e-6));
      rows.push_back(message_row("all_reduce", ranks, ranks, bytes, 2e-6));
      rows.back().axes["dtype"] = "f64";
      rows.push_back(message_row("all_reduce", ranks, ranks, bytes, 3e-6));
      rows.back().axes["dtype"] = "f32";  // as older rows, which do not say so
    }
    rows.push_back(message_row("bandwidth", 2, 2, bytes, 1e-6));
    rows.push_back(message_row("all_reduce", 1, 1, bytes, 1e-6));
  }
  const std::vector<ResultFile> files{file("comm.jsonl", rows)};
  const std::vector<MessageFamily> families = message_families(files);
  std::set<std::string> names;
  for (const MessageFamily& family : families) {
    names.insert(family.name());
    EXPECT_EQ(family.samples.size(), 4U) << family.name();
    EXPECT_EQ(family.source, "comm.jsonl");
  }
  EXPECT_EQ(names, (std::set<std::string>{"all_reduce, sleep", "all_reduce, sleep, dtype f64",
                                          "broadcast, sleep"}));
}

TEST(MessageFamilies, HaveNoMessagesOfAReplay) {
  Measurement replayed = message_row("all_reduce", 2, 2, 64, 1e-6);
  replayed.axes["message"] = "0";
  Measurement whole = replayed;
  whole.axes["message"] = "all";
  whole.axes.erase("collective");
  const Measurement alone = message_row("all_reduce", 2, 2, 128, 1e-6);
  const auto families = message_families(std::vector{file("comm.jsonl", {replayed, whole, alone})});
  ASSERT_EQ(families.size(), 1U);
  EXPECT_EQ(families.front().samples.size(), 1U);
}

TEST(MessageFamilies, RefuseMessagesThatNobodySends) {
  const auto families = [](const std::string& collective) {
    return message_families(
        std::vector{file("comm.jsonl", {message_row(collective, 2, 2, 64, 1e-6)})});
  };
  const std::string gossip = test::config_error([&] { static_cast<void>(families("gossip")); });
  test::expect_contains(gossip, "comm.jsonl: ");
  test::expect_contains(gossip, "collective = \"gossip\", which is none");
  for (const char* known : {"pairs", "bandwidth", "bidirectional", "barrier", "sendrecv"}) {
    EXPECT_NO_THROW(static_cast<void>(families(known))) << known;
  }
}

TEST(MessageFamilies, KeepLinksApartButNotNumbersOfHosts) {
  ResultFile slow = file("slow.jsonl", {message_row("all_reduce", 2, 1, 64, 1e-6)});
  ResultFile fast = file("fast.jsonl", {message_row("all_reduce", 2, 1, 64, 1e-6)});
  ResultFile more = file("more.jsonl", {message_row("all_reduce", 3, 1, 64, 1e-6)});
  const auto hosts = [](const std::string& cores, const std::string& rates) {
    return "hosts on one machine with cores " + cores + ", links of " + rates +
           " by tc tbf with bursts of 50000, 50000 bytes";
  };
  slow.header.environment.variables["DLSCALE_CLUSTER"] = "2 " + hosts("0 | 1", "1Gb/s, 1Gb/s");
  more.header.environment.variables["DLSCALE_CLUSTER"] =
      "3 " + hosts("0 | 1 | 0", "1Gb/s, 1Gb/s, 1Gb/s");
  fast.header.environment.variables["DLSCALE_CLUSTER"] = "2 " + hosts("0 | 1", "10Gb/s, 10Gb/s");
  EXPECT_EQ(message_families(std::vector{slow, more}).size(), 1U);
  EXPECT_EQ(message_families(std::vector{slow, fast}).size(), 2U);
  EXPECT_EQ(message_families(std::vector{slow, slow}).size(), 1U);
}

}  // namespace
}  // namespace dlscale::model
