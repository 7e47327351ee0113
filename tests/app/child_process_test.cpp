#include "app/child_process.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "core/error.hpp"
#include "core/interrupt.hpp"

namespace dlscale::app {
namespace {

TEST(ChildProcess, SaysHowTheChildEnded) {
  EXPECT_EQ(run_child({"true"}, {}).code, 0);
  EXPECT_EQ(run_child({"sh", "-c", "exit 3"}, {}).code, 3);
  EXPECT_EQ(run_child({"sh", "-c", "kill -KILL $$"}, {}).code, 128 + SIGKILL);
}

TEST(ChildProcess, AddsVariablesButLeavesThoseOfTheUser) {
  ASSERT_EQ(setenv("DLSCALE_TEST_OF_THE_USER", "theirs", 1), 0);
  const std::vector<std::pair<std::string, std::string>> variables{
      {"DLSCALE_TEST_OF_THE_USER", "ours"}, {"DLSCALE_TEST_NEW", "ours"}};
  const std::string check =
      "test $DLSCALE_TEST_OF_THE_USER = theirs && test $DLSCALE_TEST_NEW = ours";
  EXPECT_EQ(run_child({"sh", "-c", check}, variables).code, 0);
  unsetenv("DLSCALE_TEST_OF_THE_USER");
}

TEST(ChildProcess, RefusesAProgramThatCannotBeStarted) {
  EXPECT_THROW(run_child({"/nowhere/at/all"}, {}), ConfigError);
}

/// How a child ends that knows no signals, of a process that was sent one.
[[noreturn]] void exit_as_the_child_of_a_process_sent(int signal) {
  install_signal_handlers();
  static_cast<void>(raise(signal));
  std::_Exit(run_child({"sleep", "600"}, {}).code);
}

TEST(ChildProcessDeathTest, PassesTheSignalOn) {
  EXPECT_EXIT(exit_as_the_child_of_a_process_sent(SIGINT), ::testing::ExitedWithCode(128 + SIGINT),
              "");
  EXPECT_EXIT(exit_as_the_child_of_a_process_sent(SIGTERM),
              ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(ChildProcess, IsNotInTheGroupThatATerminalSignals) {
  const std::string leads_its_group = "set -- $(cat /proc/$$/stat); test $5 = $$";
  EXPECT_EQ(run_child({"sh", "-c", leads_its_group}, {}).code, 0);
}

}  // namespace
}  // namespace dlscale::app
