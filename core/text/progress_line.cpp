#include "core/text/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "core/base/display_width.hpp"
#include "core/base/terminal_width.hpp"

namespace dlscale {
namespace {

constexpr std::chrono::seconds between_plain_lines{30};

constexpr std::size_t usual_columns = 80;

/// Standard error may be a stream of the program's own, which states no descriptor.
int descriptor_of(std::FILE* to) {
  return to == stderr ? STDERR_FILENO : ::fileno(to);
}

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
  if (shows_) fmt::print(to_, "\r\033[K");
  shows_ = false;
}

void ProgressLine::show(const std::string& text) {
  if (kind_ == Kind::silent) return;
  if (kind_ == Kind::terminal) {
    clear();
    fmt::print(to_, "{}", fitted(text, terminal_width(descriptor_of(to_)).value_or(usual_columns)));
    std::fflush(to_);
    shows_ = true;
    return;
  }
  const auto time = clock_();
  if (last_ && time - *last_ < between_plain_lines) return;
  last_ = time;
  fmt::print(to_, "{}\n", text);
}

TimeLeft::TimeLeft(std::span<const double> estimates) {
  for (const double seconds : estimates) estimate_left_ += seconds;
  trusted_ = 0.05 * estimate_left_;
}

void TimeLeft::finished(double estimate, double seconds) {
  estimate_left_ -= estimate;
  estimate_done_ += estimate;
  spent_ += seconds;
}

double TimeLeft::seconds() const {
  const double left = std::max(0.0, estimate_left_);  // rounding may make the sum negative
  if (left <= 0) return 0;
  return left * (spent_ + trusted_) / (estimate_done_ + trusted_);
}

void PartsProgress::show(std::size_t done, std::size_t all) {
  if (done >= all) return line_.clear();
  std::string left;
  if (done > 0) {
    const double spent = std::chrono::duration<double>(clock_() - start_).count();
    const auto parts = static_cast<double>(done);
    left = fmt::format(" (about {} left)",
                       duration_text(spent / parts * (static_cast<double>(all) - parts)));
  }
  line_.show(fmt::format("{}: {} of {}{}", what_, done, all, left));
}

}  // namespace dlscale
