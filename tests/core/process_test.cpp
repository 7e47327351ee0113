#include "core/system/process.hpp"

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

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"
#include "core/system/standard_streams.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
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

TEST(ChildProcess, DoesNotInheritTheSignalsThatThisProgramIgnores) {
  keep_standard_streams();
  const std::string ends_itself = "kill -PIPE $$; exit 3";
  EXPECT_EQ(run_child({"sh", "-c", ends_itself}, {}).code, 128 + SIGPIPE);
  EXPECT_EQ(run_program({"sh", "-c", ends_itself}).code, 128 + SIGPIPE);
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

/// Likewise, where the child has little time to heed signals.
[[noreturn]] void exit_as_the_deaf_child_that_runs(const std::string& script) {
  install_signal_handlers();
  ChildOptions options;
  options.time_to_heed_s = 0.3;
  std::_Exit(run_child({"sh", "-c", script}, {}, options).code);
}

TEST(ChildProcessDeathTest, EndsAChildThatHeedsNoSignal) {
  EXPECT_EXIT(exit_as_the_deaf_child_that_runs(
                  "trap '' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"),
              ::testing::ExitedWithCode(128 + SIGKILL), "");
}

TEST(ChildProcessDeathTest, WaitsNotLongAfterASecondSignal) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(exit_as_the_child_that_runs("trap '' TERM INT; kill -INT $PPID; kill -TERM $PPID"),
              ::testing::ExitedWithCode(128 + SIGKILL), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

/// Whether a process is there that is no zombie; waits for its end a while.
bool goes_on(long pid) {
  // Whoever reaps it may take its time: the state follows the name.
  for (int look = 0; look < 100; ++look) {
    std::string number;
    std::string name;
    std::string state;
    if (!(std::ifstream(fmt::format("/proc/{}/stat", pid)) >> number >> name >> state))
      return false;
    if (state == "Z" || state == "X") return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::filesystem::path place_of_number(const std::string& name) {
  return std::filesystem::path(testing::TempDir()) / fmt::format("{}_{}", name, getpid());
}

long number_in(const std::filesystem::path& file) {
  long number = 0;
  EXPECT_TRUE(std::ifstream(file) >> number) << file;
  std::filesystem::remove(file);
  return number;
}

TEST(ChildProcessDeathTest, LeavesNothingBehindThatHeedsNoSignal) {
  const std::filesystem::path file = place_of_number("deaf_to_signals");
  const std::string deaf =
      "trap '' TERM; echo \\$\\$ > " + file.string() + "; kill -TERM \\$1; exec sleep 600";
  EXPECT_EXIT(exit_as_the_deaf_child_that_runs("trap 'exit 5' TERM; sh -c \"" + deaf +
                                               "\" deaf $PPID & wait"),
              ::testing::ExitedWithCode(5), "");
  EXPECT_FALSE(goes_on(number_in(file)));
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
  const std::filesystem::path file = place_of_number("deaf");
  const std::string deaf = "trap '' TERM; echo \\$\\$ > " + file.string() + "; exec sleep 600";
  ChildOptions options;
  options.timeout_s = 0.5;
  options.time_to_end_s = 0.1;
  const ChildExit ended = run_child({"sh", "-c", "sh -c \"" + deaf + "\" & wait"}, {}, options);
  EXPECT_TRUE(ended.timed_out);
  EXPECT_FALSE(goes_on(number_in(file)));
}

TEST(ChildProcess, ThatPrintsWithoutEndLeavesTheEndOfItsLog) {
  const test::TemporaryFolder folder;
  const std::filesystem::path log = folder.path() / "log";
  const std::vector<std::string> command{"sh", "-c",
                                         "truncate -s 1100M /proc/self/fd/1 && echo the end"};
  EXPECT_EQ(run_child(command, {}, {.log = log}).code, 0);
  EXPECT_LT(std::filesystem::file_size(log), 65U * 1024 * 1024);
  const std::string text = test::read_file(log);
  EXPECT_TRUE(text.starts_with("... 1086324744 bytes are left out here ...\n"))
      << text.substr(0, 80);
  EXPECT_TRUE(text.ends_with("the end\n"));
}

TEST(ChildProcess, IsNotInTheGroupThatATerminalSignals) {
  const std::string leads_its_group = "set -- $(cat /proc/$$/stat); test $5 = $$";
  EXPECT_EQ(run_child({"sh", "-c", leads_its_group}, {}).code, 0);
}

TEST(ProgramOutput, IsAllThatAProgramSays) {
  const ProgramOutput both = run_program({"sh", "-c", "echo out; echo errors >&2; exit 3"});
  EXPECT_EQ(both.code, 3);
  EXPECT_EQ(both.text, "out\n");
  EXPECT_EQ(both.errors, "errors\n");
  const ProgramOutput much =
      run_program({"sh", "-c", "head -c 200000 /dev/zero >&2; head -c 200000 /dev/zero"});
  EXPECT_EQ(much.text.size(), 200000U);
  EXPECT_EQ(much.errors.size(), 200000U);
  EXPECT_EQ(run_program({"/no/such/program"}).code, ProgramOutput::not_started);
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}).code, 128 + 9);
  EXPECT_EQ(run_program({"cat"}).text, "") << "it waits for no input";
}

TEST(ProgramOutput, IsOfAnEnvironmentWithVariablesSetAndRemoved) {
  ASSERT_EQ(setenv("DLSCALE_TEST_SET", "theirs", 1), 0);
  ASSERT_EQ(setenv("DLSCALE_TEST_REMOVED", "theirs", 1), 0);
  const ProgramOutput output = run_program(
      {"sh", "-c", "echo $DLSCALE_TEST_SET ${DLSCALE_TEST_REMOVED-none}"},
      {.variables = {{"DLSCALE_TEST_SET", "ours"}}, .removed = {"DLSCALE_TEST_REMOVED"}});
  EXPECT_EQ(output.text, "ours none\n");
  unsetenv("DLSCALE_TEST_SET");
  unsetenv("DLSCALE_TEST_REMOVED");
}

}  // namespace
}  // namespace dlscale
