#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <istream>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/measurement.hpp"
#include "core/replaceable.hpp"
#include "core/result_json.hpp"
#include "core/result_resume.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() {
    if (number_ >= 0) close(number_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

bool is_result(std::istream& content) {
  std::string first_line;
  std::getline(content, first_line);
  try {
    (void)parse_header(first_line);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

[[noreturn]] void refuse_place(const fs::path& path, int error) {
  throw ConfigError(
      fmt::format("results cannot be written to {} ({}). Choose a place you may write with -o.",
                  path.string(), std::strerror(error)));
}

int open_results(const fs::path& path) {
  if (path == "-") return dup(STDOUT_FILENO);
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) refuse_place(path, error.value());
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse_place(path, errno);
  return descriptor;
}

/// Makes sure that the name of a new file, too, outlives a crash.
void sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const FileDescriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.number() >= 0) (void)fsync(descriptor.number());
}

}  // namespace

struct ResultWriter::Impl {
  fs::path path;
  FileDescriptor file;
  bool is_regular = false;
  off_t kept = 0;  ///< bytes of whole lines on disk
  std::size_t measurements = 0;

  /// Keeps the first `bytes` of what is there.
  Impl(const fs::path& where, std::uintmax_t bytes) : path(where), file(open_results(where)) {
    struct stat status = {};
    if (fstat(file.number(), &status) != 0) refuse_place(path, errno);
    is_regular = path != "-" && S_ISREG(status.st_mode);
    if (!is_regular) return;
    refuse_foreign_file(path, "a result file", is_result);
    if (flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      throw ConfigError(fmt::format(
          "{} is being written by another dlscale. Wait for it, or choose another name with -o.",
          path.string()));
    }
    kept = static_cast<off_t>(bytes);
    if (ftruncate(file.number(), kept) != 0 || lseek(file.number(), kept, SEEK_SET) != kept) {
      refuse_place(path, errno);
    }
    sync_folder(path);
  }

  void append(const std::string& line) {
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t written = ::write(file.number(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) give_up(errno);
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (is_regular && fsync(file.number()) != 0) give_up(errno);
    kept += static_cast<off_t>(line.size());
  }

  /// Takes a half-written line back, so that the file stays readable.
  [[noreturn]] void give_up(int error) const {
    if (is_regular && ftruncate(file.number(), kept) != 0) {
      // The reader drops the half-written line.
    }
    throw ConfigError(fmt::format(
        "{} cannot be written ({}); the {} measurements before are kept. Free some space or choose "
        "another place with -o.",
        path.string(), std::strerror(error), measurements));
  }
};

ResultWriter::ResultWriter(const fs::path& path, const ResultHeader& header)
    : impl_(std::make_unique<Impl>(path, 0)) {
  impl_->append(header_line(header));
}

ResultWriter::ResultWriter(const fs::path& path, const ResumePoint& point)
    : impl_(std::make_unique<Impl>(path, point.bytes)) {
  impl_->measurements = point.measurements.size();
}

ResultWriter::~ResultWriter() = default;
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;
ResultWriter& ResultWriter::operator=(ResultWriter&&) noexcept = default;

void ResultWriter::write(const Measurement& measurement) {
  impl_->append(measurement_line(measurement));
  ++impl_->measurements;
}

void ResultWriter::finish() {
  impl_->append(end_line(impl_->measurements));
}

}  // namespace dlscale
