#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "report/format/column_meaning.hpp"
#include "report/format/format.hpp"
#include "report/format/text_width.hpp"

namespace dlscale::report::format {
namespace {

enum class Outcome { passed, failed, broken, skipped };

/// Outcome of a row by its verdict, or by the status of a measurement or of a cell of a suite.
Outcome outcome_of(std::string_view word) {
  constexpr std::array<std::string_view, 3> failures{"regressed", "shifted", "failed"};
  constexpr std::array<std::string_view, 4> no_answers{"wrong", "interrupted", "crashed",
                                                       "timeout"};
  constexpr std::array<std::string_view, 7> left_open{
      "inconclusive", "unsupported", "nothing measured", "left", "not measured",
      "new baseline", "ended"};
  if (is_among(failures, word)) return Outcome::failed;
  if (is_among(no_answers, word)) return Outcome::broken;
  return is_among(left_open, word) ? Outcome::skipped : Outcome::passed;
}

struct Case {
  std::string name;
  std::string word;     ///< verdict or status
  std::string details;  ///< "ratio=1.05, …"
  std::string seconds;  ///< time of a measurement; may be empty
  Outcome outcome = Outcome::passed;
};

std::string text_at(const Table& table, const std::vector<Cell>& row, std::string_view heading) {
  const auto column = column_of(table, heading);
  return column ? row.at(*column).text : std::string{};
}

/// "key: series", or the columns before the outcome: axes of a measurement.
std::string name_of(const Table& table, const std::vector<Cell>& row, std::size_t outcome) {
  if (const std::string key = text_at(table, row, "key"); !key.empty()) {
    const std::string series = text_at(table, row, "series");
    return series.empty() ? key : key + ": " + series;
  }
  std::string name;
  for (std::size_t i = 0; i < outcome; ++i) {
    if (row.at(i).text.empty()) continue;
    const std::string& heading = table.columns.at(i).heading;
    name += (name.empty() ? "" : " ");
    name += heading == "benchmark" ? row.at(i).text : heading + "=" + row.at(i).text;
  }
  return name;
}

/// The column with the outcome of a row.
std::optional<std::size_t> outcome_column(const Table& table) {
  const auto verdict = column_of(table, "verdict");
  return verdict ? verdict : column_of(table, "status");
}

/// Appends the rows as cases. Readers identify cases by name only, so repeated names get a number.
void append_cases(const Table& table, std::vector<Case>& cases, std::map<std::string, int>& names) {
  const auto column = outcome_column(table);
  if (!column) return;
  for (const auto& row : table.rows) {
    Case one{name_of(table, row, *column), row.at(*column).text, "", text_at(table, row, "time_s"),
             outcome_of(row.at(*column).text)};
    if (const int number = ++names[one.name]; number > 1) one.name += fmt::format(" ({})", number);
    if (text_at(table, row, "role") == "detail") {
      one.outcome = Outcome::skipped;
      one.word += ", a detail that is not judged";
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i].text.empty() || i == *column) continue;
      one.details += fmt::format("{}{}={}", one.details.empty() ? "" : ", ",
                                 table.columns[i].heading, row[i].text);
    }
    cases.push_back(std::move(one));
  }
}

std::vector<Case> cases_of(const Document& document) {
  std::vector<Case> cases;
  std::map<std::string, int> names;
  append_cases(document.cells, cases, names);
  const auto cells = static_cast<std::ptrdiff_t>(cases.size());
  append_cases(tracked_records(document), cases, names);
  for (Case& one : std::ranges::subrange(cases.begin() + cells, cases.end())) {
    const bool fails = (document.improvement_fails && one.word == "improved") ||
                       (document.missing_fails && one.word == "not measured");
    if (fails) one.outcome = Outcome::failed;
  }
  return cases;
}

std::string case_text(const Case& one, const std::string& kind) {
  const std::string time =
      one.seconds.empty() ? "" : fmt::format(" time=\"{}\"", escape_markup(one.seconds));
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\"{}", escape_markup(kind),
                                escape_markup(one.name), time);
  if (one.outcome == Outcome::passed) return out + "/>\n";
  const std::string word = escape_markup(one.word);
  const std::string_view element = one.outcome == Outcome::failed ? "failure" : "error";
  const std::string result = one.outcome == Outcome::skipped
                                 ? fmt::format("<skipped message=\"{}\"/>", word)
                                 : fmt::format("<{0} message=\"{1}\" type=\"{1}\">{2}</{0}>",
                                               element, word, escape_markup(one.details));
  return out + fmt::format(">\n      {}\n    </testcase>\n", result);
}

std::string write_junit(const Document& document, const Terminal&) {
  const std::string kind = kind_of(document);
  if (!outcome_column(tracked_records(document)) && !outcome_column(document.cells)) {
    throw ConfigError(fmt::format(
        "a {} has no verdicts and no status, so that there is nothing in it that passes or fails. "
        "Use the format json or csv.",
        kind));
  }
  const std::vector<Case> cases = cases_of(document);
  const auto count = [&cases](Outcome outcome) {
    return std::ranges::count(cases, outcome, &Case::outcome);
  };
  const std::string counts = fmt::format(
      "name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", escape_markup(kind),
      cases.size(), count(Outcome::failed), count(Outcome::broken), count(Outcome::skipped));
  std::string out =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {}>\n  <testsuite {}>\n",
                  counts, counts);
  for (const Case& one : cases) out += case_text(one, kind);
  if (!document.lead.empty()) {
    out += fmt::format("    <system-out>{}</system-out>\n", escape_markup(document.lead));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace

extern const Format junit_format;
const Format junit_format{"junit", "JUnit XML: a test case a row with a verdict or a status",
                          write_junit};

}  // namespace dlscale::report::format
