#include "regression/history/commits.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/statistics.hpp"

namespace dlscale::report::history {

std::vector<CommitPoint> by_commit(std::span<const Point> points) {
  std::vector<CommitPoint> commits;
  commits.reserve(points.size());
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(points.size());
  for (const Point& point : points) {
    const auto [place, fresh] = places.try_emplace(point.commit, commits.size());
    if (fresh) commits.push_back({point.commit, point.time, {}, 0, point.run});
    CommitPoint& commit = commits[place->second];
    commit.time = std::min(commit.time, point.time);
    commit.runs.push_back(point.summary.median);
  }
  for (CommitPoint& commit : commits) {
    commit.value = commit.runs.size() == 1 ? commit.runs.front() : median(commit.runs);
  }
  std::ranges::stable_sort(commits, {}, &CommitPoint::time);
  return commits;
}

}  // namespace dlscale::report::history
