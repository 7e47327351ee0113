#include "core/system/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "core/system/output_file.hpp"

namespace dlscale {
namespace {

/// Standard output is opened for reading, so that each write to it fails.
void open_closed_streams() {
  constexpr std::array modes{O_RDONLY, O_RDONLY, O_WRONLY};
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is the stream's own, since those below it are open.
    (void)::open("/dev/null", modes.at(static_cast<std::size_t>(stream)));
  }
}

ssize_t write_or_drop(void*, const char* text, std::size_t bytes) {
  (void)write_all(STDERR_FILENO, std::string_view(text, bytes));
  return static_cast<ssize_t>(bytes);
}

void drop_what_errors_do_not_take() {
  cookie_io_functions_t functions{};
  functions.write = write_or_drop;
  std::FILE* const errors = ::fopencookie(nullptr, "w", functions);
  if (errors == nullptr) return;
  // Without a buffer each sentence is one write: ranks share the stream.
  (void)std::setvbuf(errors, nullptr, _IONBF, 0);
  stderr = errors;
}

}  // namespace

void keep_standard_streams() {
  open_closed_streams();
  drop_what_errors_do_not_take();
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

bool is_left_by_its_reader() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

}  // namespace dlscale
