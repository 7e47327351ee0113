#include "app/cells/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace dlscale::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_plain_lines{30};

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const double minutes = std::round(seconds / 60);
  if (minutes < 90) return fmt::format("{:.0f} min", minutes);
  const double hours = std::floor(minutes / 60);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - 60 * hours);
}

CellProgressLine::Kind CellProgressLine::kind_for(bool quiet) {
  if (quiet) return Kind::silent;
  return ::isatty(STDERR_FILENO) == 1 ? Kind::terminal : Kind::plain;
}

CellProgressLine::~CellProgressLine() {
  clear();
}

void CellProgressLine::clear() {
  if (shows_) fmt::print(stderr, "\r\033[K");
  shows_ = false;
}

void CellProgressLine::show(std::size_t done, const std::string& now, double seconds_left) {
  if (kind_ == Kind::silent) return;
  const std::string text = fmt::format("[{}/{} cells] {} (about {} left)", done, cells_, now,
                                       duration_text(seconds_left));
  if (kind_ == Kind::terminal) {
    clear();
    fmt::print(stderr, "{}", text);
    std::fflush(stderr);
    shows_ = true;
    return;
  }
  const auto time = Clock::now();
  if (last_ && time - *last_ < between_plain_lines) return;
  last_ = time;
  fmt::print(stderr, "{}\n", text);
}

}  // namespace dlscale::app
