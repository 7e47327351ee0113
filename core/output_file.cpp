#include "core/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.hpp"

namespace dlscale {
namespace {

bool is_standard_output(const struct stat& file) {
  struct stat output = {};
  return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino;
}

}  // namespace

int open_output(const std::filesystem::path& path, int flags) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, 0666);
  if (descriptor < 0 && errno == ENXIO) {
    throw ConfigError(
        fmt::format("{} is a pipe or a socket that no program reads, so what is written there "
                    "would wait for ever. Start the reader first, or choose another place with -o.",
                    path.string()));
  }
  // Writes do wait: for a reader that is slower, and for a terminal.
  if (descriptor >= 0) EXPECT(fcntl(descriptor, F_SETFL, 0) == 0);
  return descriptor;
}

void refuse_shared_output(const std::filesystem::path& path, std::string_view what) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0 || S_ISCHR(file.st_mode)) return;
  if (is_standard_output(file)) {
    throw ConfigError(
        fmt::format("{} is where standard output goes, too (each would overwrite the other). Name "
                    "a file of its own.",
                    what));
  }
  if (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)) {
    throw ConfigError(
        fmt::format("{} is a pipe or a socket (it is opened more than once, and its reader would "
                    "stop when it is closed for the first time). Name a file.",
                    what));
  }
}

}  // namespace dlscale
