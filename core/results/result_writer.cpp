#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/results/locked_results.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_json.hpp"
#include "core/results/result_resume.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

}  // namespace

struct ResultWriter::Impl {
  fs::path path;
  std::shared_ptr<LockedResults> file;
  off_t kept = 0;  ///< bytes of whole lines on disk
  std::size_t measurements = 0;

  /// Keeps the first `bytes` bytes of the file.
  Impl(std::shared_ptr<LockedResults> locked, const fs::path& where, std::uintmax_t bytes)
      : path(where), file(std::move(locked)) {
    if (!file->is_regular()) return;
    file->keep(bytes);
    kept = static_cast<off_t>(bytes);
  }

  void append(const std::string& line) {
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t written = ::write(file->descriptor(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) give_up(errno);
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (file->is_regular() && fsync(file->descriptor()) != 0) give_up(errno);
    kept += static_cast<off_t>(line.size());
  }

  /// Removes a half-written line, so that the file remains readable.
  [[noreturn]] void give_up(int error) const {
    if (file->is_regular() && ftruncate(file->descriptor(), kept) != 0) {
      // The reader drops the half-written line.
    }
    const std::string before =
        measurements == 0 ? "" : fmt::format("; the {} measurements before are kept", measurements);
    throw ConfigError(
        fmt::format("{} cannot be written ({}){}. Free some space or choose another place with -o.",
                    path.string(), std::strerror(error), before));
  }
};

ResultWriter::ResultWriter(const fs::path& path, const ResultHeader& header)
    : impl_(std::make_unique<Impl>(std::make_shared<LockedResults>(path), path, 0)) {
  impl_->append(header_line(header));
}

ResultWriter::ResultWriter(const fs::path& path, const ResumePoint& point)
    : impl_(std::make_unique<Impl>(point.file, path, point.bytes)) {
  impl_->measurements = point.measurements.size();
  if (!point.opening.empty()) impl_->append(point.opening);
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
