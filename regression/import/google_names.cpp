#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "regression/import/google_file.hpp"

namespace dlscale::regression::history {
namespace {

/// How often the names of rows without a type occur.
using NameCounts = std::map<std::string, int, std::less<>>;

int count_of(const NameCounts& counts, std::string_view name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

/// Whether aggregates of a benchmark with this name may stand in the file: beside its repetitions,
/// or several without them (--benchmark_report_aggregates_only) or beside those that were kept.
bool has_aggregates(const NameCounts& counts, const std::string& base) {
  if (count_of(counts, base) >= 2) return true;
  return count_of(counts, base + "_mean") == 1 && count_of(counts, base + "_stddev") == 1;
}

/// Names an aggregate by its suffix; returns whether the row is one.
bool split_aggregate(GoogleRow& row, const NameCounts& counts) {
  for (const std::string_view suffix : {"_mean", "_median", "_stddev", "_cv"}) {
    if (!row.name.ends_with(suffix) || count_of(counts, row.name) != 1) continue;
    const std::string base = row.name.substr(0, row.name.size() - suffix.size());
    if (!has_aggregates(counts, base)) continue;
    row.name = base;
    row.aggregate = suffix.substr(1);
    return true;
  }
  return false;
}

void name_aggregates(std::vector<GoogleRow>& rows) {
  NameCounts counts;
  for (const GoogleRow& row : rows) {
    if (!row.states_type && row.aggregate.empty()) ++counts[row.name];
  }
  const GoogleRow* aggregate = nullptr;  // the last row, if it is one
  for (GoogleRow& row : rows) {
    const bool is_open = !row.states_type && row.aggregate.empty();
    if (is_open && !split_aggregate(row, counts) && aggregate != nullptr) {
      // Statistics of the user's own follow the others.
      const std::string start = aggregate->name + "_";
      if (row.name.starts_with(start) && count_of(counts, row.name) == 1) {
        row.aggregate = row.name.substr(start.size());
        row.name = aggregate->name;
      }
    }
    aggregate = is_open && !row.aggregate.empty() ? &row : nullptr;
  }
}

/// Why rows of one name are not repetitions of one benchmark, by name.
std::map<std::string, std::string> shared_names(const std::vector<GoogleRow>& rows) {
  std::map<std::string, std::string> shared;
  std::map<std::string, std::set<int>> repetitions;
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const GoogleRow& row = rows[i];
    if (!row.aggregate.empty()) continue;
    if (row.repetition) {
      const bool is_new = repetitions[row.name].insert(*row.repetition).second;
      if (!is_new) shared[row.name] = fmt::format("two rows are repetition {}", *row.repetition);
      continue;
    }
    // Before 1.5 repetitions follow each other.
    const auto before = last.find(row.name);
    if (before != last.end() && before->second + 1 != i) {
      shared[row.name] = "its rows do not follow each other";
    }
    last[row.name] = i;
  }
  return shared;
}

}  // namespace

void settle_names(std::vector<GoogleRow>& rows) {
  std::erase_if(
      rows, [](const GoogleRow& row) { return row.aggregate == "BigO" || row.aggregate == "RMS"; });
  name_aggregates(rows);
  const std::map<std::string, std::string> shared = shared_names(rows);
  if (shared.empty()) return;
  std::set<std::string> told;
  std::erase_if(rows, [&](GoogleRow& row) {
    const auto found = shared.find(row.name);
    if (found == shared.end()) return false;
    if (!told.insert(row.name).second) return true;
    row.aggregate.clear();
    row.values.clear();
    row.outcome = GoogleRow::Outcome::ambiguous;
    row.message = found->second + ", so several benchmarks have this name";
    return false;
  });
}

}  // namespace dlscale::regression::history
