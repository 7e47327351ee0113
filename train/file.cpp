#include "train/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace dlscale::train {
namespace {

class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }
  /// Some file systems report a full disk only here.
  [[nodiscard]] int close() { return ::close(std::exchange(value_, -1)); }

 private:
  int value_;
};

[[noreturn]] void fail_to_read(const std::filesystem::path& path, int error) {
  throw ConfigError(fmt::format("{} cannot be read: {}. Check the path and its permissions.",
                                path.string(), std::generic_category().message(error)));
}

[[noreturn]] void fail_to_write(const std::filesystem::path& path, int error) {
  const char* advice = error == ENOSPC || error == EDQUOT || error == EFBIG
                           ? "Make room, or choose another folder; what is there so far is kept"
                           : "Choose a folder that can be written";
  throw ConfigError(fmt::format("{} cannot be written: {}. {}.", path.string(),
                                std::generic_category().message(error), advice));
}

/// What is left of a file that could not be written must not look like a file in the making.
class Temporary {
 public:
  explicit Temporary(std::filesystem::path path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void rename_to(const std::filesystem::path& target) {
    if (::rename(path_.c_str(), target.c_str()) != 0) fail_to_write(target, errno);
    path_.clear();
  }

 private:
  std::filesystem::path path_;
};

/// Unlike that of any other process, on this node or on another that shares the folder.
std::string temporary_name(const std::filesystem::path& path) {
  std::random_device device;
  return fmt::format(".{}.{}-{:08x}.partial", path.filename().string(), ::getpid(), device());
}

}  // namespace

void read_file(const std::filesystem::path& path, std::vector<std::uint8_t>& bytes) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const Descriptor file(path, O_RDONLY | O_NONBLOCK);
  if (file.get() < 0) fail_to_read(path, errno);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail_to_read(path, errno);
  if (S_ISDIR(status.st_mode)) fail_to_read(path, EISDIR);
  if (!S_ISREG(status.st_mode)) fail_to_read(path, EINVAL);
  bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(path, errno);
    if (got == 0) break;  // it became shorter meanwhile; the decoder finds out
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
}

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  Temporary temporary(path.parent_path() / temporary_name(path));
  Descriptor file(temporary.path(), O_WRONLY | O_CREAT | O_TRUNC);
  if (file.get() < 0) fail_to_write(path, errno);
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_to_write(path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  if (file.close() != 0) fail_to_write(path, errno);
  temporary.rename_to(path);
}

}  // namespace dlscale::train
