#include "core/input_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

/// Why the file is not to be opened; empty if it may be.
std::string objection(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) return error.message();
  if (fs::is_directory(status)) return "it is a folder";
  if (!fs::is_regular_file(status)) return "it is a pipe or a device, where a file is wanted";
  return "";
}

}  // namespace

std::ifstream open_input(const fs::path& path, std::string_view advice) {
  std::string reason = objection(path);
  std::ifstream stream;
  if (reason.empty()) {
    errno = 0;
    stream.open(path, std::ios::binary);
    if (!stream) reason = std::generic_category().message(errno);
  }
  if (!reason.empty()) {
    throw ConfigError(fmt::format("{} cannot be read ({}). {}", path.string(), reason, advice));
  }
  return stream;
}

}  // namespace dlscale
