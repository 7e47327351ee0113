#include "regression/history/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "regression/levels/change_points.hpp"

namespace dlscale::regression::history {
namespace {

std::optional<double> level_of(const std::vector<CommitPoint>& commits) {
  std::vector<double> values;
  values.reserve(commits.size());
  for (const CommitPoint& commit : commits) values.push_back(commit.value);
  const ChangePoints found = find_change_points(values);
  if (found.segments.empty()) return std::nullopt;
  return found.segments.back().level;
}

ListedSeries listed(Series series, const Selection& selection) {
  const std::size_t points = series.points.size();
  std::vector<CommitPoint> commits = by_commit(std::move(series.points));
  ListedSeries row{series.key.id(), series.key, points, commits.size(), level_of(commits), {}};
  if (selection.since) {
    std::erase_if(commits,
                  [&](const CommitPoint& commit) { return commit.time < *selection.since; });
  }
  const std::size_t count = std::min(selection.last, commits.size());
  row.latest.assign(commits.end() - static_cast<std::ptrdiff_t>(count), commits.end());
  return row;
}

}  // namespace

std::vector<ListedSeries> list(Store& store, const Selection& selection) {
  std::vector<ListedSeries> rows;
  std::size_t incomplete = 0;
  bool any_whole = false;
  const Reading all = store.each_series(selection.wanted, [&](Series&& series) {
    incomplete += series.incomplete;
    if (series.points.empty()) return;
    any_whole = true;
    ListedSeries row = listed(std::move(series), selection);
    if (!row.latest.empty()) rows.push_back(std::move(row));
  });
  if (incomplete > 0 && !any_whole) throw none_whole(store.name(), incomplete);
  if (rows.empty()) {
    throw Error(ExitCode::nothing_measured,
                fmt::format("no series of {} is looked for (there are {}). Choose another name or "
                            "time.",
                            store.name(), all.series));
  }
  std::ranges::stable_sort(rows, {}, [](const ListedSeries& row) { return row.key.name(); });
  return rows;
}

}  // namespace dlscale::regression::history
