#include "suite/steps/suite_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/locked_results.hpp"
#include "core/results/measurement.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "suite/steps/remaining_steps.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;

/// A file with measurements that would be discarded.
struct LostFile {
  fs::path path;
  std::size_t measurements = 0;
  std::string reason;
};

/// Whether a step measures. Other steps derive results and protect existing files themselves.
bool measures(const SuiteStep& step) {
  return !step.always && is_benchmark(step);
}

bool resumes(const SuiteStep& step) {
  return std::ranges::find(step.words, "--resume") != step.words.end();
}

/// Whether a result file with content exists. Throws ConfigError for a file that must not be
/// overwritten.
bool holds_results(const SuiteStep& step, const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (status.type() == fs::file_type::none) {
    throw ConfigError(fmt::format("{} cannot be looked at ({}). Choose another folder with -o.",
                                  path.string(), error.message()));
  }
  if (fs::is_directory(status)) {
    throw ConfigError(
        fmt::format("{} is a folder, and step \"{}\" of the suite writes a file of that name. "
                    "Choose another folder with -o, or move it away.",
                    path.string(), step.name));
  }
  if (!fs::is_regular_file(status) || fs::is_empty(path, error)) return false;
  const LockedResults checked(path);
  return true;
}

/// Number of measurements that would be lost: all of a step that resumes, and those in completed
/// files of a step that does not.
std::size_t measurements_to_lose(const SuiteStep& step, const fs::path& path) {
  const ResultFile file = read_results(path);
  return file.complete || resumes(step) ? file.measurements.size() : 0;
}

/// `done`: number of steps that would stay unchanged.
[[noreturn]] void refuse_loss(const std::vector<LostFile>& lost, int done) {
  std::size_t measurements = 0;
  for (const LostFile& file : lost) measurements += file.measurements;
  const std::string more = lost.size() == 1 ? "" : fmt::format(" and {} more", lost.size() - 1);
  const std::string stays =
      counted(done, "step") + " done before " + (done == 1 ? "stays" : "stay");
  const std::string choice =
      done == 0
          ? "or give --restart to discard them"
          : fmt::format("or move {} away to measure only that anew ({}); --restart discards all",
                        lost.size() == 1 ? "this file" : "these files", stays);
  throw ConfigError(fmt::format(
      "the suite would measure anew what is there ({}{}, {}), since {}. Name another "
      "folder with -o, {}.",
      lost.front().path.string(), more,
      counted(static_cast<long long>(measurements), "measurement"), lost.front().reason, choice));
}

/// Maximum number of rows that are named.
constexpr std::size_t named_rows = 10;

/// The results that a step completed.
std::vector<ResultFile> finished_results(const SuiteStep& step) {
  std::vector<ResultFile> finished;
  if (!is_benchmark(step)) return finished;
  for (const fs::path& output : step.outputs) {
    std::error_code error;
    if (!fs::is_regular_file(output, error)) continue;
    ResultFile file = read_results(output);
    if (file.complete) finished.push_back(std::move(file));
  }
  return finished;
}

/// What a suite keeps in its folder: lists, marks of finished steps, and folders of cells.
constexpr std::array own_names{"cells.jsonl", "cells", "canary", ".cells", ".done"};

/// The path without links, whether its target exists or not.
fs::path without_links(fs::path path) {
  constexpr int most = 40;  // Linux's limit
  std::error_code error;
  for (int i = 0; i < most && fs::is_symlink(path, error); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  const fs::path known = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path.lexically_normal() : known;
}

bool lies_in(const fs::path& path, const fs::path& own) {
  std::error_code absent;
  if (fs::equivalent(path, own, absent)) return true;  // two names of one file
  const auto [rest, end] = std::ranges::mismatch(own, path);
  return rest == own.end();
}

bool is_wrong(const Measurement& measurement) {
  return measurement.status == Status::wrong;
}

}  // namespace

void protect_outputs(std::span<const SuiteStep> steps, const SuiteProgress& progress, Fresh fresh) {
  std::vector<LostFile> lost;
  const RemainingSteps left(steps, progress);
  int done = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SuiteStep& step = steps[i];
    if (step.always) continue;
    if (fresh == Fresh::no && !left.to_do(i)) {
      ++done;
      continue;
    }
    const SuiteStep* redone = left.cause(i);
    const bool goes_on = redone == nullptr && progress.begun(step);
    if (measures(step)) {
      for (const fs::path& path : step.outputs) {
        if (!holds_results(step, path) || fresh == Fresh::yes) continue;
        if (goes_on || progress.given_up(step)) continue;
        const std::size_t measurements = measurements_to_lose(step, path);
        if (measurements == 0) continue;
        const std::string other = progress.difference(step);
        lost.push_back({path, measurements,
                        other.empty() && redone != nullptr
                            ? fmt::format("step \"{}\" before it is to be done again", redone->name)
                            : other});
      }
    }
  }
  if (!lost.empty()) refuse_loss(lost, done);
}

void refuse_own_files(std::span<const SuiteStep> steps, const fs::path& out) {
  for (const SuiteStep& step : steps) {
    for (const fs::path& output : step.outputs) {
      for (const char* name : own_names) {
        if (!lies_in(without_links(output), without_links(out / name))) continue;
        throw ConfigError(
            fmt::format("step \"{}\" writes to {}, where the suite keeps {} of its own. Let the step "
                        "write another file.",
                        step.name, output.string(), (out / name).string()));
      }
    }
  }
}

CellResults::CellResults(fs::path out)
    : out_(std::move(out)), list_(content_of(out_ / "cells.jsonl")), files_(files_of_cells()) {}

CellResults::Identities CellResults::files_of_cells() const {
  Identities files;
  std::error_code error;
  fs::recursive_directory_iterator entry(out_ / "cells", error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code unknown;
    if (!entry->is_regular_file(unknown)) continue;
    files[entry->path()] = {entry->file_size(unknown), entry->last_write_time(unknown)};
  }
  return files;
}

bool CellResults::restore() const {
  const fs::path list = out_ / "cells.jsonl";
  if (list_.empty() || content_of(list) == list_) return false;
  std::error_code absent;
  if (fs::is_symlink(list, absent)) fs::remove(list, absent);
  write_for_good(list, list_);
  return true;
}

void CellResults::guard(const SuiteStep& step, const std::function<void()>& run) const {
  try {
    run();
  } catch (...) {
    (void)restore();
    throw;
  }
  check(step);
}

void CellResults::check(const SuiteStep& step) const {
  if (restore()) {
    throw ConfigError(
        fmt::format("step \"{}\" wrote over {}, where the suite lists its cells. The list is put "
                    "back. Let the step write another file.",
                    step.name, (out_ / "cells.jsonl").string()));
  }
  const Identities now = files_of_cells();
  for (const auto& [path, identity] : files_) {
    const auto found = now.find(path);
    if (found != now.end() && found->second == identity) continue;
    throw ConfigError(
        fmt::format("step \"{}\" wrote over {} or removed it, which is a result of a cell. Let the "
                    "step write another file, and measure that cell again (--name, --restart).",
                    step.name, path.string()));
  }
}

void empty_outputs(const SuiteStep& step) {
  if (!measures(step) || !resumes(step)) return;
  for (const fs::path& path : step.outputs) {
    if (holds_results(step, path)) LockedResults(path).keep(0);
  }
}

bool told_by_rows(const SuiteStep& step, ExitCode code) {
  if (code != ExitCode::wrong_result && code != ExitCode::nothing_measured) return false;
  const std::vector<ResultFile> files = finished_results(step);
  return std::ranges::any_of(files, [code](const ResultFile& file) {
    const auto& rows = file.measurements;
    return code == ExitCode::wrong_result ? std::ranges::any_of(rows, is_wrong) : !rows.empty();
  });
}

std::vector<WrongRow> wrong_rows(std::span<const SuiteStep> steps) {
  std::vector<WrongRow> wrong;
  std::set<fs::path> seen;
  for (const SuiteStep& step : steps) {
    for (const ResultFile& file : finished_results(step)) {
      if (!seen.insert(file.path).second) continue;
      for (const Measurement& row : file.measurements) {
        if (is_wrong(row)) wrong.push_back({file.path.string(), row.key(), row.reason});
      }
    }
  }
  return wrong;
}

ExitCode conclude(std::span<const WrongRow> wrong) {
  if (wrong.empty()) return ExitCode::ok;
  fmt::print(stderr, "dlscale: {} of this suite {} wrong, so no time is given:\n",
             wrong.size() == 1 ? "a result" : fmt::format("{} results", wrong.size()),
             wrong.size() == 1 ? "is" : "are");
  for (const WrongRow& row : wrong.first(std::min(wrong.size(), named_rows))) {
    fmt::print(stderr, "  {}: {}: {}\n", row.file, row.key, row.reason);
  }
  if (wrong.size() > named_rows) fmt::print(stderr, "  and {} more\n", wrong.size() - named_rows);
  return ExitCode::wrong_result;
}

}  // namespace dlscale::suite
