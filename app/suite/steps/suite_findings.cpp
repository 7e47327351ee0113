#include "app/suite/steps/suite_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/results/measurement.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

/// Maximum number of rows that are named.
constexpr std::size_t named_rows = 10;

/// The results that a step completed.
std::vector<ResultFile> finished_results(const SuiteStep& step) {
  std::vector<ResultFile> finished;
  if (!is_benchmark(step)) return finished;
  for (const fs::path& output : outputs_of(step)) {
    std::error_code error;
    if (!fs::is_regular_file(output, error)) continue;
    ResultFile file = read_results(output);
    if (file.complete) finished.push_back(std::move(file));
  }
  return finished;
}

bool is_wrong(const Measurement& measurement) {
  return measurement.status == Status::wrong;
}

}  // namespace

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

}  // namespace dlscale::app
