#include "regression/history/history_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/output_file.hpp"

namespace dlscale::regression::history {
namespace {

namespace fs = std::filesystem;

Descriptor opened(const fs::path& path, int flags) {
  return Descriptor(::open(path.c_str(), flags | O_CLOEXEC, 0666));
}

/// Advice on a file that cannot be written.
const char* advice_on(int error) {
  switch (error) {
    case EROFS:
      return "Its file system is mounted to be read only. Name a store elsewhere.";
    case EACCES:
    case EPERM:
      return "You lack the right to write there. Ask its owner, or name a store of your own.";
    case ENOSPC:
    case EDQUOT:
      return "Free space, or name a store elsewhere.";
    case EMFILE:
    case ENFILE:
      return "Allow more open files (ulimit -n).";
    default:
      return "Look at the disk, or name a store elsewhere.";
  }
}

[[noreturn]] void refuse(const fs::path& path, int error) {
  throw ConfigError(
      fmt::format("{} cannot be written ({}), so nothing was added to the history. {}",
                  path.string(), std::strerror(error), advice_on(error)));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, error.value());
}

std::string read_whole(const fs::path& path, const Descriptor& file) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw ConfigError(
        fmt::format("{} is not a file, so the history is damaged. Remove it.", path.string()));
  }
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t got = 0;
  while (got < content.size()) {
    const ssize_t count = ::read(file.get(), content.data() + got, content.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw ConfigError(fmt::format("{} cannot be read ({}). Look at the disk.", path.string(),
                                    std::strerror(errno)));
    }
    if (count == 0) break;  // truncated meanwhile
    got += static_cast<std::size_t>(count);
  }
  content.resize(got);
  return content;
}

/// Bytes of the lines that were written whole. The last may lack its line break, as editors leave
/// it; a line that was cut short is not JSON.
std::size_t whole_lines(std::string_view content) {
  const std::size_t last = content.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view rest = content.substr(last);
  return rest.starts_with('{') && nlohmann::json::accept(rest) ? content.size() : last;
}

/// Whether syncfs(2) reports that a file could not be written, which Linux does from 5.8 on.
bool syncfs_reports_failures() {
  struct utsname kernel = {};
  int major = 0;
  int minor = 0;
  if (::uname(&kernel) != 0) return false;
  if (std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  return std::pair(major, minor) >= std::pair(5, 8);
}

/// Appends lines to files, all or none: unless keep() is called, the lines are removed again. A
/// run has a thousand series, so that all files are flushed at once and not one after the other.
class Appending {
 public:
  /// The descriptor of the folder reports all failures since it was opened.
  explicit Appending(const fs::path& folder) : folder_(opened(folder, O_RDONLY | O_DIRECTORY)) {
    if (!folder_) refuse(folder, errno);
  }
  ~Appending() {
    if (!kept_) undo();
  }
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;

  void append(const fs::path& path, std::string_view lines) {
    if (folders_.insert(path.parent_path()).second) make_folder(path.parent_path());
    const Descriptor file = opened(path, O_RDWR | O_CREAT | O_APPEND);
    if (!file) refuse(path, errno);
    const std::string content = read_whole(path, file);
    const auto before = static_cast<off_t>(whole_lines(content));
    if (before < static_cast<off_t>(content.size()) && ::ftruncate(file.get(), before) != 0) {
      refuse(path, errno);
    }
    done_.push_back({path, before});
    const bool lacks_break = before > 0 && content[static_cast<std::size_t>(before) - 1] != '\n';
    const std::string added = (lacks_break ? "\n" : "") + std::string(lines);
    if (const int error = write_all(file.get(), added); error != 0) refuse(path, error);
    unflushed_.push_back(path);
  }
  /// Brings the lines to the disk.
  void flush() {
    if (unflushed_.size() > 1 && syncfs_reports_failures() && ::syncfs(folder_.get()) == 0) {
      unflushed_.clear();
      return;
    }
    std::set<fs::path> folders;
    for (const fs::path& path : unflushed_) {
      const Descriptor file = opened(path, O_RDWR);
      if (const int error = file ? file.sync() : errno; error != 0) refuse(path, error);
      folders.insert(path.parent_path());
    }
    for (const fs::path& folder : folders) (void)sync_folder(folder);
    unflushed_.clear();
  }
  void keep() { kept_ = true; }

 private:
  struct Done {
    fs::path path;
    off_t before;
  };
  void undo() const {
    for (auto last = done_.rbegin(); last != done_.rend(); ++last) {
      if (last->before == 0) {
        ::unlink(last->path.c_str());
      } else {
        (void)!::truncate(last->path.c_str(), last->before);
      }
    }
  }
  Descriptor folder_;
  std::set<fs::path> folders_;  ///< that are there
  std::vector<Done> done_;
  std::vector<fs::path> unflushed_;
  bool kept_ = false;
};

/// Says that another process has the lock if it keeps it for a second.
void tell_wait(const Descriptor& file, const fs::path& path) {
  constexpr int looks = 20;
  constexpr std::chrono::milliseconds between(50);
  for (int look = 0; look < looks; ++look) {
    if (file.try_lock() != Descriptor::Lock::held_by_another) return;
    std::this_thread::sleep_for(between);
  }
  fmt::print(stderr, "dlscale: waiting for {}, which another dlscale holds\n", path.string());
}

/// The lock belongs to the open file, so it ends with the process.
Descriptor locked(const fs::path& folder) {
  const fs::path path = folder / ".lock";
  Descriptor file = opened(path, O_RDWR | O_CREAT);
  if (!file) refuse(path, errno);
  tell_wait(file, path);
  int error = EINTR;
  while (error == EINTR) error = file.wait_for_lock();
  if (error != 0) {
    throw ConfigError(fmt::format(
        "{} cannot be locked ({}), and without a lock two writers would damage each other's "
        "lines. Use a folder on a local disk.",
        path.string(), std::strerror(error)));
  }
  return file;
}

/// Writes a file to disk before the lines that refer to it.
void put(const fs::path& path, std::string_view content) {
  make_folder(path.parent_path());
  if (const int error = write_whole(path, content); error != 0) refuse(path, error);
  (void)sync_folder(path.parent_path());
}

void create(const fs::path& path, std::string_view content) {
  std::error_code unknown;
  if (!fs::exists(path, unknown)) put(path, content);
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

}  // namespace

HistoryFolder::HistoryFolder(fs::path folder) : folder_(std::move(folder)) {
  std::error_code unknown;
  if (fs::exists(folder_, unknown) && !fs::is_directory(folder_, unknown)) {
    throw ConfigError(fmt::format("{} is not a folder, and a history is one. Name another store.",
                                  folder_.string()));
  }
}

std::string HistoryFolder::name() const {
  return fmt::format("the history in {}", folder_.string());
}

std::vector<std::string> HistoryFolder::files(std::string_view below) const {
  std::vector<std::string> names;
  const fs::path root = folder_ / below;
  std::error_code error;
  fs::recursive_directory_iterator entry(root, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(gone)) {
      names.push_back(entry->path().lexically_relative(folder_).generic_string());
    }
  }
  if (error) {
    throw ConfigError(
        fmt::format("the folder {} cannot be searched ({}). Check that you may read it.",
                    root.string(), error.message()));
  }
  std::ranges::sort(names);
  return names;
}

std::optional<std::string> HistoryFolder::read_all(const std::string& name) const {
  const fs::path path = folder_ / name;
  const Descriptor file = opened(path, O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw ConfigError(fmt::format("{} cannot be read ({}). Check that you may read it.",
                                  path.string(), std::strerror(errno)));
  }
  return read_whole(path, file);
}

std::optional<std::string> HistoryFolder::read(const std::string& file) const {
  std::optional<std::string> content = read_all(file);
  if (content) content->resize(whole_lines(*content));
  return content;
}

void HistoryFolder::update(const std::function<Changes()>& plan) const {
  make_folder(folder_);
  const Descriptor lock = locked(folder_);
  const Changes changes = plan();
  for (const auto& [name, content] : changes.created) create(folder_ / name, content);
  for (const auto& [name, content] : changes.whole) put(folder_ / name, content);
  Appending appending(folder_);
  for (const auto& [name, lines] : changes.appended) appending.append(folder_ / name, lines);
  appending.flush();
  if (const auto& [name, lines] = changes.last; !name.empty()) {
    appending.append(folder_ / name, lines);
    appending.flush();
  }
  appending.keep();
}

}  // namespace dlscale::regression::history
