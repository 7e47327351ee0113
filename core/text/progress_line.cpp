#include "core/text/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdio>

#include "core/base/display_width.hpp"
#include "core/base/terminal_width.hpp"

namespace dlscale {
namespace {

constexpr std::chrono::seconds between_plain_lines{30};

constexpr std::size_t usual_columns = 80;

}  // namespace

std::string fitted(const std::string& text, std::size_t columns) {
  return cut_to_width(text, columns < 2 ? 1 : columns - 1);
}

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  const double minutes = std::round(seconds / 60);
  if (minutes < 90) return fmt::format("{:.0f} min", minutes);
  const double hours = std::floor(minutes / 60);
  return fmt::format("{:.0f} h {:.0f} min", hours, minutes - 60 * hours);
}

ProgressLine::Kind ProgressLine::kind_for(bool quiet) {
  if (quiet) return Kind::silent;
  return ::isatty(STDERR_FILENO) == 1 ? Kind::terminal : Kind::plain;
}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::clear() {
  if (shows_) fmt::print(stderr, "\r\033[K");
  shows_ = false;
}

void ProgressLine::show(const std::string& text) {
  if (kind_ == Kind::silent) return;
  if (kind_ == Kind::terminal) {
    clear();
    fmt::print(stderr, "{}", fitted(text, terminal_width(STDERR_FILENO).value_or(usual_columns)));
    std::fflush(stderr);
    shows_ = true;
    return;
  }
  const auto time = std::chrono::steady_clock::now();
  if (last_ && time - *last_ < between_plain_lines) return;
  last_ = time;
  fmt::print(stderr, "{}\n", text);
}

}  // namespace dlscale
