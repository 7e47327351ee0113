#include "core/results/locked_results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <istream>
#include <string>

#include "core/base/error.hpp"
#include "core/results/result_json.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

/// A file with a truncated header holds nothing that could be lost.
bool is_result(std::istream& content) {
  std::string first_line;
  std::getline(content, first_line);
  if (content.eof() && begins_header(first_line)) return true;
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

/// Rows are appended one by one, each on disk before the next one, which gzip does not allow.
void refuse_gzip(const fs::path& path) {
  if (is_gzip(path)) {
    throw ConfigError(fmt::format(
        "results cannot be written to {}, nor appended: it is compressed with gzip. Unpack it with "
        "gunzip, or name another file with -o.",
        path.string()));
  }
  if (path.extension() == ".gz") {
    throw ConfigError(fmt::format(
        "results cannot be written to {}: they are compressed only when all are measured. Leave "
        "out .gz, and compress the file afterwards (gzip -n).",
        path.string()));
  }
}

int open_results(const fs::path& path) {
  if (path == "-") return dup(STDOUT_FILENO);
  refuse_gzip(path);
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) refuse_place(path, error.value());
  const int descriptor = open_output(path, 0);
  if (descriptor < 0) refuse_place(path, errno);
  return descriptor;
}

/// Flushes the folder, so that the name of a new file, too, survives a crash.
void sync_folder(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)fsync(descriptor);
  close(descriptor);
}

}  // namespace

LockedResults::LockedResults(const fs::path& path) : path_(path), descriptor_(open_results(path)) {
  try {
    struct stat status = {};
    if (fstat(descriptor_, &status) != 0) refuse_place(path, errno);
    is_regular_ = path != "-" && S_ISREG(status.st_mode);
    if (!is_regular_) return;
    lock();
    refuse_foreign_file(path, "a result file", is_result);
    sync_folder(path);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

LockedResults::~LockedResults() {
  if (descriptor_ >= 0) close(descriptor_);
}

/// The lock belongs to the open file: it is released when the last descriptor of the file is
/// closed, at the latest when the process ends for any reason. File systems without locks have
/// none.
void LockedResults::lock() const {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw ConfigError(fmt::format(
      "{} is being written by another dlscale. Wait for it, or choose another name with -o.",
      path_.string()));
}

void LockedResults::keep(std::uintmax_t bytes) {
  const auto kept = static_cast<off_t>(bytes);
  if (ftruncate(descriptor_, kept) != 0 || lseek(descriptor_, kept, SEEK_SET) != kept) {
    refuse_place(path_, errno);
  }
}

}  // namespace dlscale
