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

#include "regression/import/google_file.hpp"

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

void name_aggregates(std::vector<GoogleRow>& rows) {
  ByName by_name;
  for (const GoogleRow& row : rows) {
    if (row.states_type || !row.aggregate.empty()) continue;
    Namesakes& namesakes = by_name[row.name];
    ++namesakes.count;
    namesakes.iterations = row.iterations;
  }
  const GoogleRow* aggregate = nullptr;  // the last row, if it is one
  for (GoogleRow& row : rows) {
    const bool is_open = !row.states_type && row.aggregate.empty();
    if (is_open && !split_aggregate(row, by_name) && aggregate != nullptr) {
      // Statistics of the user's own follow the others.
      const std::string start = aggregate->name + "_";
      if (row.name.starts_with(start) && rows_of(by_name, row.name).count == 1) {
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
    if (!row.aggregate.empty() || row.outcome == GoogleRow::Outcome::ambiguous) continue;
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
