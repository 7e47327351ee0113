#include "core/system/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

bool is_standard_output(const struct stat& file) {
  struct stat output = {};
  return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino;
}

/// Writes directly to a target that is not a file, or to a file without a name.
int write_through(const fs::path& path, std::string_view content) {
  Descriptor file(open_output(path, O_TRUNC));
  if (file.get() < 0) return errno;
  const int error = write_all(file.get(), content);
  return error != 0 ? error : file.close();
}

/// Target of a chain of links, whether it exists or not.
fs::path behind_links(fs::path path) {
  constexpr int most = 40;  // Linux's limit
  std::error_code error;
  for (int i = 0; i < most && fs::is_symlink(path, error); ++i) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;  // an absolute target replaces the path
  }
  return path;
}

/// A temporary name, unique among all processes, on this node or on others that share the folder.
/// It does not exceed the length limit.
fs::path name_beside(const fs::path& file) {
  constexpr std::size_t most = 200;
  std::random_device random;
  const std::string name = file.filename().string().substr(0, most);
  return file.parent_path() / fmt::format(".{}.{}-{:08x}.partial", name, ::getpid(), random());
}

/// `there` is the file to be replaced; null if there is none.
int replace(const fs::path& file, std::string_view content, const struct stat* there) {
  const fs::path beside = name_beside(file);
  Descriptor written(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (written.get() < 0) return errno;
  int error = write_all(written.get(), content);
  constexpr mode_t permissions = 07777;
  if (error == 0 && there != nullptr && fchmod(written.get(), there->st_mode & permissions) != 0) {
    error = errno;
  }
  // A crash after the rename must not leave an empty file in place of the old one.
  if (error == 0) error = written.sync();
  if (const int at_end = written.close(); error == 0) error = at_end;
  if (error == 0 && ::rename(beside.c_str(), file.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
}

/// Waits for a pipe or terminal that another process has set to non-blocking.
bool wait_for_room(int descriptor) {
  pollfd room{descriptor, POLLOUT, 0};
  return ::poll(&room, 1, -1) > 0 || errno == EINTR;
}

bool is_file(const fs::path& path, const struct stat& file) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0 && found.st_dev == file.st_dev &&
         found.st_ino == file.st_ino;
}

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  throw ConfigError(
      fmt::format("{} cannot be written ({}), so the suite ends here; what it has measured before "
                  "is kept. Free space or allow writing there and run the same command again, or "
                  "choose another place with -o.",
                  path.string(), std::strerror(error)));
}

/// Flushes a file or folder: 0 or errno.
int sync(const fs::path& path, int flags) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  return opened ? opened.sync() : errno;
}

void flush(const fs::path& path, int flags) {
  if (const int error = sync(path, flags); error != 0) refuse(path, error);
}

void flush_folder(const fs::path& folder) {
  flush(folder.empty() ? fs::path(".") : folder, O_DIRECTORY);
}

}  // namespace

int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN && wait_for_room(descriptor)) continue;
    if (put < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

int open_output(const std::filesystem::path& path, int flags) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | flags, 0666);
  if (descriptor < 0 && errno == ENXIO) {
    throw ConfigError(
        fmt::format("{} is a pipe or a socket that no program reads, so what is written there "
                    "would wait for ever. Start the reader first, or choose another place with -o.",
                    path.string()));
  }
  // Later writes may block: on a slow reader, or a terminal.
  if (descriptor >= 0) EXPECT(fcntl(descriptor, F_SETFL, 0) == 0);
  return descriptor;
}

int write_whole(const fs::path& path, std::string_view content) {
  struct stat there = {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && is_standard_output(there)) {
    if (std::fflush(stdout) != 0) return errno;
    return write_all(STDOUT_FILENO, content);
  }
  const fs::path target = behind_links(path);
  if (!exists) return replace(target, content, nullptr);
  // Links of /proc lead to files by names that the files may no longer have.
  const bool has_name = S_ISREG(there.st_mode) && is_file(target, there);
  return has_name ? replace(target, content, &there) : write_through(path, content);
}

int try_to_write(const fs::path& path) {
  struct stat there = {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(there.st_mode)) return EISDIR;
  if (exists && !S_ISREG(there.st_mode)) return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;
  std::error_code absent;
  fs::path folder = fs::absolute(behind_links(path), absent).parent_path();
  while (!fs::exists(folder, absent) && folder.has_relative_path()) folder = folder.parent_path();
  const fs::path beside = name_beside(folder / path.filename());
  const Descriptor made(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (made.get() < 0) return errno;
  ::unlink(beside.c_str());
  return 0;
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

void refuse_foreign_file(const std::filesystem::path& path, std::string_view kind,
                         const std::function<bool(std::istream&)>& is_own) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  if (std::filesystem::is_empty(path, error)) return;
  std::ifstream content(path, std::ios::binary);
  if (is_own(content)) return;
  throw ConfigError(fmt::format(
      "{} is there and is not {}, so it is not overwritten. Choose another name, or remove it "
      "if nobody needs it.",
      path.string(), kind));
}

bool opens_with_schema(std::istream& content, std::string_view schema) {
  const std::string opening = fmt::format("{{\"schema\":\"{}\"", schema);
  std::string found;
  for (char letter = 0; found.size() < opening.size() && content.get(letter);) {
    if (std::isspace(static_cast<unsigned char>(letter)) == 0) found += letter;
    if (!opening.starts_with(found)) return false;
  }
  return found == opening;
}

bool has_schema(const std::filesystem::path& path, std::string_view schema) {
  constexpr std::size_t enough = 256;
  std::istringstream beginning(read_beginning(path, enough));
  return opens_with_schema(beginning, schema);
}

int sync_folder(const fs::path& folder) {
  return sync(folder.empty() ? fs::path(".") : folder, O_DIRECTORY);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, error.value());
}

void write_for_good(const fs::path& path, std::string_view text) {
  make_folder(path.parent_path().empty() ? fs::path(".") : path.parent_path());
  if (const int problem = write_whole(path, text); problem != 0) refuse(path, problem);
  flush_folder(path.parent_path());
}

void sync_tree(const fs::path& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_symlink(unknown)) continue;
    if (entry->is_directory(unknown)) flush_folder(entry->path());
    if (entry->is_regular_file(unknown)) flush(entry->path(), 0);
  }
  if (error) refuse(folder, error.value());
  flush_folder(folder);
}

bool move_for_good(const fs::path& folder, const fs::path& name) {
  if (::rename(folder.c_str(), name.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST) return false;
    refuse(name, errno);
  }
  flush_folder(name.parent_path());
  return true;
}

std::string write_problem(const fs::path& folder) {
  const fs::path file = folder / fmt::format(".probe-{}", ::getpid());
  const Descriptor probed(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!probed) return std::strerror(errno);
  // The size of a row and the end of a log: a disk may be full except for a few bytes.
  const std::vector<char> probe(64 * 1024, ' ');
  int error = 0;
  const ssize_t put = ::write(probed.get(), probe.data(), probe.size());
  if (put < 0) error = errno;
  if (error == 0 && put < static_cast<ssize_t>(probe.size())) error = ENOSPC;
  if (error == 0) error = probed.sync();
  ::unlink(file.c_str());
  return error == 0 ? "" : std::strerror(error);
}

}  // namespace dlscale
