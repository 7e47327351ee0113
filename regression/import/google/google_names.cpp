#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/escape_for_terminal.hpp"
#include "regression/import/google/google_file.hpp"

namespace dlscale::regression::history {
namespace {

/// Rows without a type that have one name.
struct Namesakes {
  int count = 0;
  std::optional<double> iterations;  ///< of the last
};
using ByName = std::map<std::string, Namesakes, std::less<>>;

Namesakes rows_of(const ByName& rows, std::string_view name) {
  const auto found = rows.find(name);
  return found == rows.end() ? Namesakes{} : found->second;
}

/// Whether two rows may be statistics of the same repetitions, which all run equally often. Before
/// version 1.3 a standard deviation has 0 iterations.
bool may_agree(const Namesakes& a, const Namesakes& b) {
  return !a.iterations || !b.iterations || *a.iterations == *b.iterations || *b.iterations == 0;
}

/// Whether aggregates of a benchmark with this name stand in the file: beside its repetitions, or
/// several without them (--benchmark_report_aggregates_only) or beside the only one that was kept.
/// Before version 1.3 there are two, and 0 iterations tell them from two benchmarks called so;
/// since then a median is among them.
bool has_aggregates(const ByName& rows, const std::string& base) {
  const Namesakes itself = rows_of(rows, base);
  if (itself.count >= 2) return true;
  const Namesakes mean = rows_of(rows, base + "_mean");
  const Namesakes deviation = rows_of(rows, base + "_stddev");
  if (mean.count != 1 || deviation.count != 1 || !may_agree(mean, deviation)) return false;
  if (itself.count == 1) return may_agree(itself, mean);
  return deviation.iterations == 0 || rows_of(rows, base + "_median").count == 1;
}

/// Names an aggregate by its suffix; returns whether the row is one.
bool split_aggregate(GoogleRow& row, const ByName& rows) {
  for (const std::string_view suffix : {"_mean", "_median", "_stddev", "_cv"}) {
    if (!row.name.ends_with(suffix) || rows_of(rows, row.name).count != 1) continue;
    const std::string base = row.name.substr(0, row.name.size() - suffix.size());
    if (!has_aggregates(rows, base)) continue;
    row.name = base;
    row.aggregate = suffix.substr(1);
    return true;
  }
  return false;
}

/// Names a statistic of the user's own by what follows the name of the benchmark: it stands among
/// the rows of its repetitions and their mean, and ran as often.
void split_own_statistic(GoogleRow& row, const std::string& base, const ByName& rows) {
  const std::string start = base + "_";
  const Namesakes mean = rows_of(rows, start + "mean");
  const Namesakes itself = rows_of(rows, row.name);
  const bool is_one = !base.empty() && row.name.starts_with(start) && itself.count == 1 &&
                      mean.count == 1 && has_aggregates(rows, base) && may_agree(itself, mean);
  if (!is_one) return;
  row.aggregate = row.name.substr(start.size());
  row.name = base;
}

void name_aggregates(std::vector<GoogleRow>& rows) {
  ByName by_name;
  for (const GoogleRow& row : rows) {
    if (row.states_type || !row.aggregate.empty()) continue;
    Namesakes& namesakes = by_name[row.name];
    ++namesakes.count;
    namesakes.iterations = row.iterations;
  }
  std::string group;  // the benchmark that the rows belong to so far
  for (GoogleRow& row : rows) {
    if (row.states_type || !row.aggregate.empty()) {
      group.clear();
      continue;
    }
    if (!split_aggregate(row, by_name)) split_own_statistic(row, group, by_name);
    group = row.name;
  }
}

std::string aggregate_twice(const GoogleRow& row) {
  return fmt::format("two rows are its {}", escape_for_terminal(row.aggregate));
}

/// Adds the names whose rows neither have numbers nor stand beside aggregates, which every version
/// prints after repetitions.
void add_rows_without_aggregates(const std::vector<GoogleRow>& rows,
                                 std::map<std::string, std::string>& shared) {
  std::map<std::string, int> times;
  std::set<std::string> aggregated;
  for (const GoogleRow& row : rows) {
    if (!row.aggregate.empty()) aggregated.insert(row.name);
    const bool is_open = row.aggregate.empty() && !row.repetition;
    if (is_open && row.outcome == GoogleRow::Outcome::measured) ++times[row.name];
  }
  for (const auto& [name, count] : times) {
    if (count < 2 || aggregated.contains(name)) continue;
    shared.try_emplace(name, fmt::format("its {} rows have no mean, as repetitions have", count));
  }
}

/// Why rows of one name are not repetitions of one benchmark, by name.
std::map<std::string, std::string> shared_names(const std::vector<GoogleRow>& rows) {
  std::map<std::string, std::string> shared;
  std::map<std::string, std::set<int>> repetitions;
  std::set<std::pair<std::string, std::string>> aggregates;
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const GoogleRow& row = rows[i];
    if (row.outcome == GoogleRow::Outcome::ambiguous) continue;
    if (!row.aggregate.empty()) {
      const bool is_new = aggregates.emplace(row.name, row.aggregate).second;
      if (!is_new) shared[row.name] = aggregate_twice(row);
      continue;
    }
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
  add_rows_without_aggregates(rows, shared);
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
