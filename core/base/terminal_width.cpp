#include "core/base/terminal_width.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace dlscale {
namespace {

/// The width that the variable COLUMNS states.
std::optional<std::size_t> stated_width() {
  const char* const stated = std::getenv("COLUMNS");
  if (stated == nullptr) return {};
  const std::string_view text = stated;
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (error != std::errc() || end != text.data() + text.size() || width == 0) return {};
  return width;
}

}  // namespace

std::optional<std::size_t> terminal_width(int file_descriptor) {
  winsize size{};
  if (::ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return size.ws_col;
}

std::size_t line_width(int file_descriptor) {
  constexpr std::size_t least = 40;
  constexpr std::size_t most = 100;
  const std::optional<std::size_t> terminal = terminal_width(file_descriptor);
  const std::optional<std::size_t> width = terminal ? terminal : stated_width();
  return std::clamp(width.value_or(most), least, most);
}

}  // namespace dlscale
