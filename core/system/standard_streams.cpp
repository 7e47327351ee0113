#include "core/system/standard_streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <ext/stdio_sync_filebuf.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <memory>
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

ssize_t write_or_fail(void*, const char* text, std::size_t bytes) {
  errno = write_all(STDOUT_FILENO, std::string_view(text, bytes));
  return errno == 0 ? static_cast<ssize_t>(bytes) : 0;
}

/// Lets answers wait where the C library would lose them: at a full pipe that another process has
/// set to non-blocking.
void wait_for_readers_of_output() {
  cookie_io_functions_t functions{};
  functions.write = write_or_fail;
  std::FILE* const output = ::fopencookie(nullptr, "w", functions);
  if (output == nullptr) return;
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  (void)std::setvbuf(output, nullptr, is_terminal ? _IOLBF : _IOFBF, BUFSIZ);
  stdout = output;
  using SharedBuffer = __gnu_cxx::stdio_sync_filebuf<char>;
  // The library flushes std::cout when the program ends, so its buffer is never freed.
  static SharedBuffer& shared = *std::make_unique<SharedBuffer>(output).release();
  std::cout.rdbuf(&shared);
}

}  // namespace

void keep_standard_streams() {
  open_closed_streams();
  drop_what_errors_do_not_take();
  wait_for_readers_of_output();
  (void)std::signal(SIGPIPE, SIG_IGN);
  (void)std::signal(SIGXFSZ, SIG_IGN);
}

bool is_left_by_its_reader() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

}  // namespace dlscale
