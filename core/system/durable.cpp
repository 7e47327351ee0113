#include "core/system/durable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/system/output_file.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  throw ConfigError(
      fmt::format("{} cannot be written ({}), so the suite ends here; what it has measured before "
                  "is kept. Free space or allow writing there and run the same command again, or "
                  "choose another place with -o.",
                  path.string(), std::strerror(error)));
}

/// Flushes a path; file systems that have nothing to flush and report that count as success.
void sync(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) refuse(path, errno);
  const int error = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (error != 0 && error != EINVAL && error != ENOSYS) refuse(path, error);
}

void sync_folder(const fs::path& folder) {
  sync(folder.empty() ? fs::path(".") : folder, O_DIRECTORY);
}

}  // namespace

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, error.value());
}

void write_for_good(const fs::path& path, std::string_view text) {
  make_folder(path.parent_path().empty() ? fs::path(".") : path.parent_path());
  if (const int problem = write_whole(path, text); problem != 0) refuse(path, problem);
  sync_folder(path.parent_path());
}

void sync_tree(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_symlink(unknown)) continue;
    if (entry->is_directory(unknown)) sync_folder(entry->path());
    if (entry->is_regular_file(unknown)) sync(entry->path(), 0);
  }
  if (error) refuse(folder, error.value());
  sync_folder(folder);
}

bool move_for_good(const fs::path& folder, const fs::path& name) {
  if (::rename(folder.c_str(), name.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST) return false;
    refuse(name, errno);
  }
  sync_folder(name.parent_path());
  return true;
}

std::string write_problem(const fs::path& folder) {
  const fs::path file = folder / fmt::format(".probe-{}", ::getpid());
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return std::strerror(errno);
  // The size of a row and the end of a log: a disk may be full except for a few bytes.
  const std::vector<char> probe(64 * 1024, ' ');
  int error = 0;
  const ssize_t put = ::write(descriptor, probe.data(), probe.size());
  if (put < 0) error = errno;
  if (error == 0 && put < static_cast<ssize_t>(probe.size())) error = ENOSPC;
  if (error == 0 && ::fsync(descriptor) != 0 && errno != EINVAL) error = errno;
  ::close(descriptor);
  ::unlink(file.c_str());
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace dlscale
