#include "core/system/standard_streams.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/base/error.hpp"
#include "core/system/output.hpp"

namespace dlscale {
namespace {

using Pipe = std::array<int, 2>;

void redirect(int from, int stream) {
  if (from < 0 || ::dup2(from, stream) < 0) std::_Exit(99);
}

void full_disk(int stream) {
  redirect(::open("/dev/full", O_WRONLY), stream);
}

void closed(int stream) {
  (void)::close(stream);
}

void pipe_without_reader(int stream) {
  Pipe ends{};
  if (::pipe(ends.data()) != 0) std::_Exit(99);
  redirect(ends[1], stream);
  (void)::close(ends[0]);
  (void)::close(ends[1]);
}

void terminal_gone(int stream) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) std::_Exit(99);
  redirect(::open(::ptsname(master), O_RDWR | O_NOCTTY), stream);
  (void)::close(master);
}

void size_limit(int stream) {
  std::string path = ::testing::TempDir() + "dlscale_XXXXXX";
  const int file = ::mkstemp(path.data());
  (void)::unlink(path.c_str());
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_FSIZE, &none) != 0) std::_Exit(99);
  redirect(file, stream);
}

void opened_for_reading(int stream) {
  redirect(::open("/dev/null", O_RDONLY), stream);
}

struct Lost {
  const char* name;
  void (*lose)(int stream);
};

class LostStream : public ::testing::TestWithParam<Lost> {};

[[noreturn]] void say_much_on_errors(void (*lose)(int)) {
  lose(STDERR_FILENO);
  keep_standard_streams();
  for (int i = 0; i < 1000; ++i) fmt::print(stderr, "cell {} of {}\n", i, 1000);
  std::fprintf(stderr, "%s\n", std::string(100'000, 'x').c_str());
  std::cerr << "rows" << std::endl;
  say_out_of_memory();
  std::exit(7);
}

TEST_P(LostStream, OfErrorsEndsNothing) {
  EXPECT_EXIT(say_much_on_errors(GetParam().lose), ::testing::ExitedWithCode(7), "");
}

[[noreturn]] void answer_on_output(void (*lose)(int)) {
  lose(STDOUT_FILENO);
  keep_standard_streams();
  try {
    write_output("-", "an answer\n");
  } catch (const ConfigError& error) {
    std::exit(std::string(error.what()) == lost_output ? 7 : 8);
  }
  std::exit(0);
}

TEST_P(LostStream, OfAnswersIsReported) {
  EXPECT_EXIT(answer_on_output(GetParam().lose), ::testing::ExitedWithCode(7), "");
}

INSTANTIATE_TEST_SUITE_P(All, LostStream,
                         ::testing::Values(Lost{"full_disk", full_disk}, Lost{"closed", closed},
                                           Lost{"pipe_without_reader", pipe_without_reader},
                                           Lost{"terminal_gone", terminal_gone},
                                           Lost{"size_limit", size_limit},
                                           Lost{"opened_for_reading", opened_for_reading}),
                         [](const auto& info) { return std::string(info.param.name); });

constexpr std::size_t long_answer = 400'000;  // several times what a pipe holds

/// Prints into a non-blocking pipe, in a process of its own. Returns what a slow reader gets.
std::string read_slowly(void (*print)()) {
  Pipe ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t writer = ::fork();
  if (writer == 0) {
    redirect(ends[1], STDOUT_FILENO);
    (void)::fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    (void)::close(ends[0]);
    (void)::close(ends[1]);
    keep_standard_streams();
    print();
    check_standard_output();
    std::_Exit(0);
  }
  (void)::close(ends[1]);
  (void)::usleep(20'000);
  std::string got;
  std::array<char, 65536> part{};
  for (ssize_t bytes = 1; (bytes = ::read(ends[0], part.data(), part.size())) > 0;) {
    got.append(part.data(), static_cast<std::size_t>(bytes));
  }
  (void)::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_EQ(status, 0);
  return got;
}

TEST(NonBlockingOutput, LosesNothing) {
  const std::string wanted(long_answer, 'x');
  EXPECT_TRUE(read_slowly([] { std::cout << std::string(long_answer, 'x'); }) == wanted);
  EXPECT_TRUE(read_slowly([] { fmt::print("{}", std::string(long_answer, 'x')); }) == wanted);
  EXPECT_TRUE(read_slowly([] { write_output("-", std::string(long_answer, 'x')); }) == wanted);
  EXPECT_TRUE(read_slowly([] {
                for (std::size_t i = 0; i < long_answer; i += 2) {
                  std::cout << 'x';
                  fmt::print("x");
                }
              }) == wanted);
}

[[noreturn]] void open_a_file_without_streams() {
  for (int stream = 0; stream < 3; ++stream) (void)::close(stream);
  keep_standard_streams();
  std::exit(::open("/dev/null", O_WRONLY));
}

TEST(ClosedStreams, GiveTheirNumbersToNoFile) {
  EXPECT_EXIT(open_a_file_without_streams(),
              [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) > 2; }, "");
}

}  // namespace
}  // namespace dlscale
