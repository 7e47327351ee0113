#include "suite/cells/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"

namespace dlscale::suite {
namespace {

/// Maximum number of cells that are named.
constexpr std::size_t named_cells = 10;

std::string cells_text(std::size_t count) {
  return counted(static_cast<long long>(count), "cell");
}

void name_bad(const std::vector<CellRow>& bad) {
  for (std::size_t i = 0; i < std::min(bad.size(), named_cells); ++i) {
    fmt::print(stderr, "dlscale: cell \"{}\": {}: {}\n", bad[i].cell,
               cell_status_name(bad[i].status), bad[i].reason);
  }
  if (bad.size() > named_cells) {
    fmt::print(stderr, "dlscale: and {} more; cells.jsonl names all\n",
               cells_text(bad.size() - named_cells));
  }
}

}  // namespace

bool everything_done(const CellStore& store, std::span<const SuiteCell> cells) {
  const std::set<std::string> there = store.done();
  return std::ranges::all_of(cells, [&](const SuiteCell& cell) { return there.contains(cell.id); });
}

ExitCode conclude_cells(const CellStore& store, std::span<const SuiteCell> cells, CellsEnd end,
                        bool quiet) {
  const std::set<std::string> there = store.done();
  std::map<CellStatus, std::size_t> counts;
  std::vector<CellRow> bad;
  std::size_t done = 0;
  long long measurements = 0;
  for (const SuiteCell& cell : cells) {
    if (!there.contains(cell.id)) continue;
    ++done;
    CellRow row = store.row(cell);
    ++counts[row.status];
    measurements += row.measurements;
    if (!is_fine(row.status)) bad.push_back(std::move(row));
  }
  std::vector<std::string> words;
  for (const auto& [status, count] : counts) {
    words.push_back(fmt::format("{} {}", count, cell_status_name(status)));
  }
  if (!quiet) {
    fmt::print(stderr, "dlscale: {} of {}: {}\n", done, cells_text(cells.size()),
               words.empty() ? "none was carried out" : fmt::format("{}", fmt::join(words, ", ")));
  }
  name_bad(bad);
  const std::size_t left = cells.size() - done;
  if (left > 0) {
    fmt::print(stderr, "dlscale: {} left{}; the same command goes on with {}\n",
               left == 1 ? "1 cell is" : cells_text(left) + " are",
               end == CellsEnd::out_of_time ? ", since the time budget is spent" : "",
               left == 1 ? "it" : "them");
  }
  if (!bad.empty()) return ExitCode::wrong_result;
  if (left > 0) return ExitCode::inconclusive;
  const bool any_fits = counts.contains(CellStatus::ok) || measurements > 0;
  return any_fits ? ExitCode::ok : ExitCode::nothing_measured;
}

std::string cell_progress(std::size_t done, std::size_t cells, const std::string& now,
                          double seconds_left) {
  return fmt::format("[{}/{} cells] {} (about {} left)", done, cells, now,
                     duration_text(seconds_left));
}

}  // namespace dlscale::suite
