#include "train/data/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "core/base/error.hpp"
#include "core/system/output_file.hpp"

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
    if (got == 0) break;  // the file was truncated meanwhile; the decoder notices
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
}

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const int error = write_whole(path, content); error != 0) fail_to_write(path, error);
}

}  // namespace dlscale::train
