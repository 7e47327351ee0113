#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/locked_results.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_json.hpp"
#include "core/results/result_paths.hpp"
#include "core/results/result_resume.hpp"
#include "core/system/file_kind.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view packed = ".gz";

struct Line {
  std::string_view text;
  bool is_terminated = false;  ///< ends in a line break; a crash can truncate the last line
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const bool is_terminated = end != std::string_view::npos;
    lines.push_back({text.substr(0, end), is_terminated});
    text.remove_prefix(is_terminated ? end + 1 : text.size());
  }
  return lines;
}

bool is_cut_short(const Line& line) {
  if (line.is_terminated) return false;
  try {
    (void)kind_of_line(line.text);
    return false;
  } catch (const ConfigError&) {
    return true;
  }
}

/// Reads one line after the header.
void read_line(ResultFile& file, std::string_view text) {
  if (file.complete) throw ConfigError("there is more after the line that ends the file");
  switch (kind_of_line(text)) {
    case LineKind::measurement:
      file.measurements.push_back(parse_measurement(text));
      return;
    case LineKind::header:
      throw ConfigError("this line is not a measurement");
    case LineKind::end:
      break;
  }
  if (parse_end(text) != file.measurements.size()) {
    throw ConfigError(fmt::format("the file ends after {} measurements but counts {}",
                                  file.measurements.size(), parse_end(text)));
  }
  file.complete = true;
}

[[noreturn]] void refuse_folder(const fs::path& path, const std::error_code& error) {
  throw ConfigError(fmt::format(
      "the folder {} cannot be searched for result files ({}). Name the files, or another folder.",
      path.string(), error.message()));
}

/// Whether a file is a list of cells that a suite keeps beside their results. The folder below
/// holds unfinished cells; it becomes a result when they are done.
bool is_list_of_cells(const fs::path& path) {
  return has_schema(path, "dlscale.plan") || has_schema(path, "dlscale.cells");
}
constexpr std::string_view cells_under_way = ".cells";

/// Refuses a file that exists compressed and uncompressed: it would count twice.
void refuse_twins(const std::vector<fs::path>& sorted) {
  for (const fs::path& path : sorted) {
    const fs::path plain = fs::path(path).replace_extension();
    if (path.extension() != packed || !std::ranges::binary_search(sorted, plain)) continue;
    throw ConfigError(
        fmt::format("{} and {} are both there, and would count twice. Remove one of them.",
                    plain.string(), path.filename().string()));
  }
}

namespace fs = std::filesystem;

}  // namespace

bool is_named(const fs::path& path, std::string_view extension) {
  return path.extension() == extension ||
         (path.extension() == packed && path.stem().extension() == extension);
}

std::vector<fs::path> named_paths(const fs::path& folder,
                                  std::span<const std::string_view> extensions) {
  std::vector<fs::path> paths;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, options, error), end; !error && entry != end;
       entry.increment(error)) {
    const bool is_wanted = std::ranges::any_of(
        extensions, [&](std::string_view extension) { return is_named(entry->path(), extension); });
    std::error_code unknown;
    if (is_wanted && entry->is_regular_file(unknown)) paths.push_back(entry->path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<fs::path> result_paths(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().filename() == cells_under_way) entry.disable_recursion_pending();
    if (!is_named(entry->path(), ".jsonl")) continue;
    std::error_code unknown;
    const bool is_file = entry->is_regular_file(unknown);
    if (is_file && is_list_of_cells(entry->path())) continue;
    if (is_file || unknown == std::errc::too_many_symbolic_link_levels) {
      paths.push_back(entry->path());
    }
  }
  if (error) refuse_folder(folder, error);
  std::sort(paths.begin(), paths.end());
  refuse_twins(paths);
  return paths;
}

ResultFile read_results(const fs::path& path) {
  return parse_results(path, read_input(path, advice_on_results));
}

ResultFile parse_results(const fs::path& path, std::string_view text) {
  std::vector<Line> lines = lines_of(text);
  const bool is_cut = !lines.empty() && is_cut_short(lines.back());
  if (is_cut) lines.pop_back();
  if (lines.empty()) {
    throw ConfigError(
        fmt::format("{} holds no results. Remove it, or measure again.", path.string()));
  }
  ResultFile file;
  file.path = path;
  std::size_t number = 0;
  try {
    file.header = parse_header(lines[number].text);
    for (number = 1; number < lines.size(); ++number) read_line(file, lines[number].text);
    if (is_cut && file.complete) {
      throw ConfigError("there is more after the line that ends the file");
    }
  } catch (const ConfigError& error) {
    refuse_other_kind(path, FileKind::results);
    throw ConfigError(
        fmt::format("{}:{}: {}. If it is a file of results, measure again; else leave it out.",
                    path.string(), number + 1, error.what()));
  }
  return file;
}

std::vector<ResultFile> read_result_tree(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {read_results(path)};
  const std::vector<fs::path> paths = result_paths(path);
  std::vector<ResultFile> files;
  std::transform(paths.begin(), paths.end(), std::back_inserter(files), read_results);
  return files;
}

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
    int error = write_all(file->descriptor(), line);
    if (error == 0 && file->is_regular()) error = file->sync();
    if (error != 0) give_up(error);
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
