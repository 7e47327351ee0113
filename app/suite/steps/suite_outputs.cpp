#include "app/suite/steps/suite_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/suite/steps/steps_left.hpp"
#include "core/base/error.hpp"
#include "core/results/locked_results.hpp"
#include "core/results/measurement.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::app {
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
          ? "or give --fresh to discard them"
          : fmt::format("or move {} away to measure only that anew ({}); --fresh discards all",
                        lost.size() == 1 ? "this file" : "these files", stays);
  throw ConfigError(
      fmt::format("the suite would measure anew what is there ({}{}, {}), since {}. Name another "
                  "folder with -o, {}.",
                  lost.front().path.string(), more,
                  counted(static_cast<long long>(measurements), "measurement"),
                  lost.front().reason, choice));
}

}  // namespace

void protect_outputs(std::span<const SuiteStep> steps, const SuiteProgress& progress, Fresh fresh) {
  std::vector<LostFile> lost;
  const StepsLeft left(steps, progress);
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
      for (const fs::path& path : outputs_of(step)) {
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

void empty_outputs(const SuiteStep& step) {
  if (!measures(step) || !resumes(step)) return;
  for (const fs::path& path : outputs_of(step)) {
    if (holds_results(step, path)) LockedResults(path).keep(0);
  }
}

}  // namespace dlscale::app
