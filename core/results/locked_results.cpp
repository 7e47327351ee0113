#include "core/results/locked_results.hpp"

#include <fmt/format.h>
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

Descriptor open_results(const fs::path& path) {
  if (path == "-") return Descriptor(dup(STDOUT_FILENO));
  refuse_gzip(path);
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) refuse_place(path, error.value());
  Descriptor file(open_output(path, 0));
  if (!file) refuse_place(path, errno);
  return file;
}

}  // namespace

LockedResults::LockedResults(const fs::path& path) : path_(path), descriptor_(open_results(path)) {
  struct stat status = {};
  if (fstat(descriptor(), &status) != 0) refuse_place(path, errno);
  is_regular_ = path != "-" && S_ISREG(status.st_mode);
  if (!is_regular_) return;
  lock();
  refuse_foreign_file(path, "a result file", is_result);
  (void)sync_folder(path.parent_path());
}

void LockedResults::lock() const {
  if (descriptor_.try_lock() != Descriptor::Lock::held_by_another) return;
  throw ConfigError(fmt::format(
      "{} is being written by another dlscale. Wait for it, or choose another name with -o.",
      path_.string()));
}

void LockedResults::keep(std::uintmax_t bytes) {
  const auto kept = static_cast<off_t>(bytes);
  if (ftruncate(descriptor(), kept) != 0 || lseek(descriptor(), kept, SEEK_SET) != kept) {
    refuse_place(path_, errno);
  }
}

}  // namespace dlscale
