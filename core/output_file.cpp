#include "core/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "core/error.hpp"

namespace dlscale {

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

}  // namespace dlscale
