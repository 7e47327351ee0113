#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/text/progress_line.hpp"

namespace dlscale {
namespace {

/// A clock and a stream that tests look at.
class ProgressTest : public ::testing::Test {
 protected:
  ~ProgressTest() override {
    std::fclose(stream_);
    std::free(text_);  // NOLINT(cppcoreguidelines-no-malloc): of open_memstream
  }
  SteadyClock clock() {
    return [this] { return now_; };
  }
  void pass(int seconds) { now_ += std::chrono::seconds(seconds); }
  std::string text() {
    std::fflush(stream_);
    return {text_, size_};
  }
  std::FILE* stream() { return stream_; }

 private:
  std::chrono::steady_clock::time_point now_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_ = ::open_memstream(&text_, &size_);
};

TEST_F(ProgressTest, WritesPlainLinesNowAndThenWhereThereIsNoTerminal) {
  {
    ProgressLine line(ProgressLine::Kind::plain, stream(), clock());
    for (int i = 0; i < 100; ++i) {
      line.show("step " + std::to_string(i));
      pass(1);
    }
    line.clear();
  }
  EXPECT_EQ(text(), "step 0\nstep 30\nstep 60\nstep 90\n");
}

TEST_F(ProgressTest, OverwritesOneLineOfATerminalAndLeavesNothing) {
  {
    ProgressLine line(ProgressLine::Kind::terminal, stream(), clock());
    line.show("one");
    line.show("two");
  }
  EXPECT_EQ(text(), "one\r\033[Ktwo\r\033[K");
}

TEST_F(ProgressTest, SaysNothingIfQuiet) {
  {
    PartsProgress parts("fits", ProgressLine::Kind::silent, stream(), clock());
    parts.show(1, 2);
  }
  EXPECT_EQ(text(), "");
}

TEST_F(ProgressTest, TellsPartsDoneAndTheTimeLeft) {
  PartsProgress parts("fits", ProgressLine::Kind::plain, stream(), clock());
  parts.show(0, 4);
  pass(60);
  parts.show(1, 4);
  parts.show(4, 4);
  EXPECT_EQ(text(), "fits: 0 of 4\nfits: 1 of 4 (about 3 min left)\n");
}

/// The time left that is stated over the true one, where half of the work is done. Jobs take
/// `slower` times their estimates.
double stated_over_true(const std::vector<double>& estimates, double slower) {
  TimeLeft left(estimates);
  double done = 0;
  double all = 0;
  for (const double estimate : estimates) all += estimate;
  for (const double estimate : estimates) {
    if (done >= all / 2) break;
    left.finished(estimate, slower * estimate);
    done += estimate;
  }
  return left.seconds() / (slower * (all - done));
}

TEST(TimeLeft, IsRightWithin30PercentAtHalfTime) {
  const std::vector<double> alike(20, 2.0);
  const std::vector<double> quickstart{5,  85, 85, 85, 85, 85, 85, 30, 30, 15, 15, 5, 5,
                                       50, 1,  1,  1,  1,  45, 45, 45, 45, 45, 45, 1, 10};
  for (const std::vector<double>& estimates : {alike, quickstart}) {
    for (const double slower : {0.3, 0.5, 1.0, 2.0, 5.0}) {
      const double ratio = stated_over_true(estimates, slower);
      EXPECT_GT(ratio, 0.7) << slower;
      EXPECT_LT(ratio, 1.3) << slower;
    }
  }
}

}  // namespace
}  // namespace dlscale
