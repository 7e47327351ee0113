#include "bench/runner/runner_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace dlscale::bench {
namespace {

constexpr std::chrono::seconds between_lines{5};

}  // namespace

Progress::Progress(Output output) : output_(output), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::next(std::string_view cell) {
  ++started_;
  if (output_ == Output::none) return;
  if (!terminal_ && Clock::now() - last_line_ < between_lines) return;
  last_line_ = Clock::now();
  const std::string left =
      started_ == 1 ? "" : fmt::format(", about {:.0f} s left", std::ceil(seconds_left()));
  fmt::print(stderr, "{}[{}/{}{}] {}{}", terminal_ ? "\r\x1b[K" : "", started_, expected_, left,
             cell, terminal_ ? "\r" : "\n");
}

void Progress::clear() const {
  if (output_ == Output::standard_error && terminal_ && started_ > 0) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

double Progress::seconds_left() const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto done = static_cast<double>(started_ - 1);
  return elapsed / done * (static_cast<double>(expected_) - done);
}

}  // namespace dlscale::bench
