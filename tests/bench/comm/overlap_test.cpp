
#include <atomic>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "bench/comm/overlap/overlap_rounds.hpp"

namespace dlscale::bench {
namespace {

constexpr OverlapTimes times(double compute_alone, double messages_alone, double together,
                             double compute_beside, double messages_beside) {
  return {Seconds(compute_alone), Seconds(messages_alone), Seconds(together),
          Seconds(compute_beside), Seconds(messages_beside)};
}

TEST(Overlap, IsOneWhereTheShorterOfBothIsHidden) {
  const Overlap longer_work = overlap(times(4, 2, 4, 4, 2));
  EXPECT_DOUBLE_EQ(longer_work.efficiency, 1);
  EXPECT_EQ(longer_work.exposed, Seconds(0));
  EXPECT_EQ(longer_work.hidden, Seconds(2));
  const Overlap longer_messages = overlap(times(1, 3, 3, 1, 3));
  EXPECT_DOUBLE_EQ(longer_messages.efficiency, 1);
  EXPECT_EQ(longer_messages.exposed, Seconds(2));
  EXPECT_EQ(longer_messages.hidden, Seconds(1));
}

TEST(Overlap, IsZeroWhereOneFollowsTheOther) {
  const Overlap found = overlap(times(3, 2, 5, 3, 2));
  EXPECT_DOUBLE_EQ(found.efficiency, 0);
  EXPECT_DOUBLE_EQ(found.compute_slowdown, 1);
  EXPECT_DOUBLE_EQ(found.messages_slowdown, 1);
  EXPECT_EQ(found.exposed, Seconds(2));
  EXPECT_EQ(found.hidden, Seconds(0));
}

TEST(Overlap, TellsWhatBothCostEachOther) {
  const Overlap found = overlap(times(2, 2, 3, 2.5, 3));
  EXPECT_DOUBLE_EQ(found.efficiency, 0.5);
  EXPECT_DOUBLE_EQ(found.compute_slowdown, 1.25);
  EXPECT_DOUBLE_EQ(found.messages_slowdown, 1.5);
  EXPECT_EQ(found.exposed, Seconds(0.5));
  EXPECT_EQ(found.hidden, Seconds(2.5));
}

TEST(Overlap, IsNegativeWhereOneAfterTheOtherIsQuicker) {
  // 157 ms one after the other and 207 ms at once, as somebody saw: 50 ms lost of the 57 ms that
  // there was to win.
  const Overlap found = overlap(times(0.1, 0.057, 0.207, 0.16, 0.2));
  EXPECT_NEAR(found.efficiency, -0.05 / 0.057, 1e-12);
  EXPECT_NEAR(found.compute_slowdown, 1.6, 1e-12);
  EXPECT_NEAR(found.exposed.si(), 0.047, 1e-12);
  EXPECT_NEAR(found.hidden.si(), 0.153, 1e-12);
}

TEST(Overlap, HidesLessThanNothingWhereMessagesBeganLate) {
  // They waited for a core until the work was done, and one more second.
  const Overlap found = overlap(times(4, 1, 6, 4, 1));
  EXPECT_DOUBLE_EQ(found.efficiency, -1);
  EXPECT_EQ(found.exposed, Seconds(2));
  EXPECT_EQ(found.hidden, Seconds(-1));
}

TEST(MatchingRuns, TakeAsLongAsTheMessagesAsNearAsCanBe) {
  EXPECT_EQ(matching_runs(1, Seconds(10), Seconds(1)), 10);
  EXPECT_EQ(matching_runs(1, Seconds(10.6), Seconds(1)), 11);
  EXPECT_EQ(matching_runs(0.5, Seconds(10), Seconds(1)), 5);
  EXPECT_EQ(matching_runs(2, Seconds(10), Seconds(4)), 5);
}

TEST(MatchingRuns, AreAtLeastOneAndAtMostAMillion) {
  EXPECT_EQ(matching_runs(1, Seconds(1e-6), Seconds(1)), 1);
  EXPECT_EQ(matching_runs(100, Seconds(1), Seconds(1e-9)), 1'000'000);
}

TEST(MessageThread, DoesWhatItIsGivenOnAThreadOfItsOwn) {
  MessageThread thread;
  std::thread::id id;
  int done = 0;
  for (int i = 0; i < 3; ++i) {
    thread.begin([&] {
      id = std::this_thread::get_id();
      ++done;
    });
    thread.finish();
    EXPECT_EQ(done, i + 1);
  }
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(MessageThread, ThrowsWhatItsWorkThrewAndGoesOn) {
  MessageThread thread;
  thread.begin([] { throw std::runtime_error("lost"); });
  EXPECT_THROW(thread.finish(), std::runtime_error);
  bool done = false;
  thread.begin([&] { done = true; });
  thread.finish();
  EXPECT_TRUE(done);
}

TEST(MessageThread, FinishesWhatItWasGivenBeforeItGoes) {
  std::atomic<bool> done = false;
  {
    MessageThread thread;
    thread.begin([&] { done = true; });
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace dlscale::bench
