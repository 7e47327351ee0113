#pragma once
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string_view>
#include <utility>

namespace dlscale {

/// open(2) for writing, with `flags` in addition to O_WRONLY, O_CREAT and O_CLOEXEC. On failure
/// returns a negative value, with the reason in errno. Does not block where open(2) would: a named
/// pipe without a reader, or a socket, throws ConfigError.
int open_output(const std::filesystem::path& path, int flags);

/// Writes all of `content` to an open descriptor, even if write(2) writes a part or is interrupted.
/// Returns 0 or errno.
[[nodiscard]] int write_all(int descriptor, std::string_view content);

/// Writes `content` to a file atomically: a temporary file beside it, with the same permissions, is
/// flushed to the disk and renamed. Links are followed. Other targets than files (a device, a pipe)
/// are written directly; the file that standard output goes to is appended to. Does not create
/// folders. Returns 0 or errno. Throws ConfigError as open_output().
[[nodiscard]] int write_whole(const std::filesystem::path& path, std::string_view content);

/// Whether write_whole() could write there, even if its folder does not exist yet. Creates and
/// removes an empty file at the place of the temporary file. Returns 0 or errno.
[[nodiscard]] int try_to_write(const std::filesystem::path& path);

/// Checks a file that is opened several times, first as a test. Throws ConfigError, which starts
/// with `what` (an option and its value), for a pipe or a socket, whose reader would stop at the
/// first end. Also throws for the file that standard output already goes to, since each would
/// overwrite the other. A missing file passes, and so do devices such as /dev/null.
void refuse_shared_output(const std::filesystem::path& path, std::string_view what);

/// An existing file may be replaced only by its own kind, because -o may be a typing error. Throws
/// ConfigError unless `is_own` accepts its content. A file that is missing, empty or not regular (a
/// device) passes. `kind` is the expected kind: "a result file".
void refuse_foreign_file(const std::filesystem::path& path, std::string_view kind,
                         const std::function<bool(std::istream& content)>& is_own);

/// Whether the content is JSON whose first key is "schema" with this value, as in documents and
/// lists of cells written by dlscale. In result files the key may be anywhere in the first line.
bool opens_with_schema(std::istream& content, std::string_view schema);
/// As above for a regular file, compressed with gzip or not; false if it cannot be read.
bool has_schema(const std::filesystem::path& path, std::string_view schema);

/// Functions for files that must survive a crash of the machine once the functions have returned.

/// Writes a file atomically and creates its folder. Throws ConfigError.
void write_for_good(const std::filesystem::path& path, std::string_view text);

/// Flushes all files in a folder and its subfolders to the disk. Throws ConfigError.
void sync_tree(const std::filesystem::path& folder);

/// Flushes a folder, so that the names of its new files survive, too. 0 or errno.
int sync_folder(const std::filesystem::path& folder);

/// Renames a folder, after sync_tree(), to its final name in one step. Returns false, and changes
/// nothing, if a folder of that name already holds files. Throws ConfigError.
[[nodiscard]] bool move_for_good(const std::filesystem::path& folder,
                                 const std::filesystem::path& name);

/// Why a folder does not accept a new file; empty if it does.
std::string write_problem(const std::filesystem::path& folder);

/// Creates a folder and its parents. Throws ConfigError.
void make_folder(const std::filesystem::path& folder);

/// An owned file descriptor, closed by the destructor. A negative number means none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  /// 0 or errno. File systems that have nothing to flush and report that count as success.
  [[nodiscard]] int sync() const {
    if (::fsync(number_) == 0 || errno == EINVAL || errno == ENOSYS) return 0;
    return errno;
  }
  /// The lock of an open file, which ends with its last descriptor, at the latest with the process.
  enum class Lock { held, held_by_another, unsupported };
  /// Locks the file unless another process holds it. Some network file systems have no locks.
  [[nodiscard]] Lock try_lock() const {
    if (::flock(number_, LOCK_EX | LOCK_NB) == 0) return Lock::held;
    return errno == EWOULDBLOCK ? Lock::held_by_another : Lock::unsupported;
  }
  /// Waits until no other process holds the lock: 0 or errno, which is EINTR after a signal.
  [[nodiscard]] int wait_for_lock() const { return ::flock(number_, LOCK_EX) == 0 ? 0 : errno; }
  /// 0 or errno; some file systems report a full disk only here.
  [[nodiscard]] int close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_ = -1;
};

}  // namespace dlscale
