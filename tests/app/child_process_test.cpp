#include "app/child_process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

TEST(ChildProcess, LeavesNothingBehindWhoseTimeIsOver) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / fmt::format("deaf_{}", getpid());
  const std::string deaf = "trap '' TERM; echo \\$\\$ > " + file.string() + "; exec sleep 600";
  ChildOptions options;
  options.timeout_s = 0.5;
  options.time_to_end_s = 0.1;
  const ChildExit ended = run_child({"sh", "-c", "sh -c \"" + deaf + "\" & wait"}, {}, options);
  EXPECT_TRUE(ended.timed_out);
  long pid = 0;
  ASSERT_TRUE(std::ifstream(file) >> pid);
  std::filesystem::remove(file);
  // Whoever reaps it may take its time: the state follows the name.
  std::string state = "Z";
  for (int look = 0; look < 100; ++look) {
    std::string number;
    std::string name;
    if (!(std::ifstream(fmt::format("/proc/{}/stat", pid)) >> number >> name >> state)) state = "Z";
    if (state == "Z" || state == "X") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(state == "Z" || state == "X") << state;
}

TEST(ChildProcess, IsNotInTheGroupThatATerminalSignals) {
  const std::string leads_its_group = "set -- $(cat /proc/$$/stat); test $5 = $$";
  EXPECT_EQ(run_child({"sh", "-c", leads_its_group}, {}).code, 0);
}

}  // namespace
}  // namespace dlscale::app
