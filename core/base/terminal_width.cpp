#include "core/base/terminal_width.hpp"

#include <sys/ioctl.h>

#include <algorithm>

namespace dlscale {

std::optional<std::size_t> terminal_width(int file_descriptor) {
  winsize size{};
  if (::ioctl(file_descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {};
  return size.ws_col;
}

std::size_t line_width(int file_descriptor) {
  constexpr std::size_t least = 40;
  constexpr std::size_t most = 100;
  return std::clamp(terminal_width(file_descriptor).value_or(most), least, most);
}

}  // namespace dlscale
