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

/// How a child ends that traps signals, of a process that the child signals by `script`.
[[noreturn]] void exit_as_the_child_that_runs(const std::string& script) {
  install_signal_handlers();
  const std::string for_ever = "; while :; do sleep 0.01; done";
  std::_Exit(run_child({"sh", "-c", script + for_ever}, {}).code);
}

TEST(ChildProcessDeathTest, PassesTheSignalOnEvenIfAnotherFollowsAtOnce) {
  EXPECT_EXIT(exit_as_the_child_that_runs(
                  "trap 'exit 7' INT; kill -INT $PPID; kill -INT $PPID; kill -INT $PPID"),
              ::testing::ExitedWithCode(7), "");
}

TEST(ChildProcessDeathTest, PassesAnotherSignalOnToAChildThatGoesOn) {
  EXPECT_EXIT(exit_as_the_child_that_runs(
                  "trap 'kill -TERM $PPID' INT; trap 'exit 9' TERM; kill -INT $PPID"),
              ::testing::ExitedWithCode(9), "");
}

TEST(ChildProcess, LeavesTheSignalsOfTheChildOpen) {
  const std::string nothing_blocked = "grep -q '^SigBlk:[[:space:]]0*$' /proc/self/status";
  EXPECT_EQ(run_child({"sh", "-c", nothing_blocked}, {}).code, 0);
}

TEST(ChildProcess, CountsACrashAsOneHoweverItWasTold) {
  EXPECT_EQ(exit_code_of({0}), ExitCode::ok);
  EXPECT_EQ(exit_code_of({3}), ExitCode::inconclusive);
  EXPECT_EQ(exit_code_of({130}), ExitCode::interrupted);
  EXPECT_EQ(exit_code_of({143}), ExitCode::terminated);
  for (const int code : {7, 64, 128 + SIGKILL, 128 + SIGSEGV, 255}) {
    EXPECT_EQ(exit_code_of({code}), ExitCode::wrong_result) << code;
  }
  EXPECT_EQ(describe({3}), "ended with exit code 3");
  EXPECT_EQ(describe({128 + SIGKILL}), "was ended by signal 9 (Killed)");
}

TEST(ChildProcess, IsNotInTheGroupThatATerminalSignals) {
  const std::string leads_its_group = "set -- $(cat /proc/$$/stat); test $5 = $$";
  EXPECT_EQ(run_child({"sh", "-c", leads_its_group}, {}).code, 0);
}

}  // namespace
}  // namespace dlscale::app
