#include "suite/job/job.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "tests/core/support.hpp"

namespace dlscale::suite {
namespace {

TEST(Job, TellsHowItEndedAndHowLongItTook) {
  const test::TemporaryFolder folder;
  const JobEnd end = run_job({.command = {"sh", "-c", "echo $KEPT $_DLSCALE_CELL; sleep 0.1"},
                              .place = place_of(folder.path(), "a"),
                              .variables = {{"KEPT", "ours"}},
                              .log = folder.path() / "log.txt"});
  EXPECT_EQ(end.exit.code, 0);
  EXPECT_GE(end.wall.si(), 0.1);
  EXPECT_NE(end.before.load, "");
  EXPECT_EQ(test::read_file(folder.path() / "log.txt"),
            "ours " + place_of(folder.path(), "a") + "\n");
}

TEST(Job, EndsAtItsTimeout) {
  const test::TemporaryFolder folder;
  const JobEnd end = run_job(
      {.command = {"sleep", "60"}, .place = place_of(folder.path(), "a"), .timeout_s = 0.1});
  EXPECT_TRUE(end.exit.timed_out);
  EXPECT_LT(end.wall.si(), 30);
}

TEST(Job, LeavesNothingRunningWhereItFails) {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "process").string();
  const JobEnd end = run_job(
      {.command = {"sh", "-c", "setsid sleep 60 > /dev/null & echo $! > " + file + "; exit 3"},
       .place = place_of(folder.path(), "a"),
       .leftovers = Job::Leftovers::are_ended});
  EXPECT_EQ(end.exit.code, 3);
  const std::string process = first_line(file);
  ASSERT_NE(process, "");
  EXPECT_EQ(content_of("/proc/" + process + "/environ"), "") << "gone, or not yet waited for";
}

TEST(Job, ThatCannotBeStartedIsRefused) {
  EXPECT_THROW((void)run_job({.command = {"/no/such/program"}, .place = "/here"}), ConfigError);
}

}  // namespace
}  // namespace dlscale::suite
