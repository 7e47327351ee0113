#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "report/format/format.hpp"
#include "report/format/kind_of.hpp"
#include "report/format/utf8.hpp"

namespace dlscale::report::format {
namespace {

/// How the unit at the end of a column's name is called in OpenMetrics, which wants base units in
/// full. In this order: the longest first.
struct Unit {
  std::string_view suffix;
  std::string_view name;
};
constexpr std::array<Unit, 7> units{{{"bytes_per_s", "bytes_per_second"},
                                     {"flops_per_s", "flops_per_second"},
                                     {"images_per_s", "images_per_second"},
                                     {"_per_s", "per_second"},
                                     {"_bytes", "bytes"},
                                     {"_flops", "flops"},
                                     {"_s", "seconds"}}};

/// Columns of plain numbers that are answers; any other without a unit is part of the question.
constexpr std::array<std::string_view, 14> plain_answers{
    "ratio",      "ratio_low", "ratio_high",         "base",          "changed",
    "p_adjusted", "rounds",    "max_relative_error", "speedup",       "efficiency",
    "error",      "bias",      "median_abs",         "ratio_to_first"};

struct Metric {
  std::size_t column = 0;
  std::string name;
  std::string_view unit;  ///< empty without one
};

std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
      name.starts_with("__")) {
    return std::string("x").append(name);
  }
  return name;
}

bool is_finite_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(value);
}

/// Whether every text of a column is a number or none, and one is.
bool has_numbers(const Table& table, std::size_t column) {
  bool any = false;
  for (const auto& row : table.rows) {
    if (row.at(column).text.empty()) continue;
    if (!is_finite_number(row.at(column).text)) return false;
    any = true;
  }
  return any;
}

std::optional<Metric> metric_of(const Table& table, std::size_t column, const std::string& kind) {
  const std::string& heading = table.columns.at(column).heading;
  if (!has_numbers(table, column)) return {};
  for (const Unit& unit : units) {
    if (!heading.ends_with(unit.suffix)) continue;
    std::string stem = heading.substr(0, heading.size() - unit.suffix.size());
    while (stem.ends_with('_')) stem.pop_back();
    std::string name = stem.empty() ? fmt::format("{}_{}", kind, unit.name)
                                    : fmt::format("{}_{}_{}", kind, plain_name(stem), unit.name);
    return Metric{column, std::move(name), unit.name};
  }
  for (const std::string_view known : plain_answers) {
    if (heading == known)
      return Metric{column, fmt::format("{}_{}", kind, plain_name(heading)), {}};
  }
  return {};
}

std::string escape_label(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

/// `name="value",…` of the columns that are no metrics and have a text.
std::string labels_of(const Table& table, const std::vector<Cell>& row,
                      const std::set<std::size_t>& metrics) {
  std::string labels;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (metrics.contains(i) || row[i].text.empty()) continue;
    labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",",
                          plain_name(table.columns[i].heading), escape_label(row[i].text));
  }
  return labels;
}

/// The labels of each row; rows that would be the same are told apart by their number.
std::vector<std::string> all_labels(const Table& table, const std::set<std::size_t>& metrics) {
  std::vector<std::string> all;
  std::set<std::string> met;
  for (const auto& row : table.rows) {
    std::string labels = labels_of(table, row, metrics);
    if (!met.insert(labels).second) {
      labels += fmt::format("{}row=\"{}\"", labels.empty() ? "" : ",", all.size());
    }
    all.push_back(std::move(labels));
  }
  return all;
}

std::string write_openmetrics(const Document& document, const Terminal&) {
  const std::string kind = plain_kind_of(document);
  const Table& table = document.records;
  std::vector<Metric> metrics;
  std::set<std::size_t> columns;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (auto metric = metric_of(table, i, kind)) {
      columns.insert(i);
      metrics.push_back(std::move(*metric));
    }
  }
  if (metrics.empty()) {
    throw ConfigError(fmt::format(
        "a {} has no numbers that could be metrics. Use --format json or csv.", kind_of(document)));
  }
  const std::vector<std::string> labels = all_labels(table, columns);
  std::string out = fmt::format("# TYPE {0} info\n{0}_info{{lead=\"{1}\"}} 1\n", kind,
                                escape_label(document.lead));
  for (const Metric& metric : metrics) {
    out += fmt::format("# TYPE {} gauge\n", metric.name);
    if (!metric.unit.empty()) out += fmt::format("# UNIT {} {}\n", metric.name, metric.unit);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const std::string& value = table.rows[i].at(metric.column).text;
      if (!value.empty()) out += fmt::format("{}{{{}}} {}\n", metric.name, labels[i], value);
    }
  }
  return out + "# EOF\n";
}

}  // namespace

extern const Format openmetrics;
const Format openmetrics{"openmetrics", "OpenMetrics text: a gauge a column, labels from the rest",
                         write_openmetrics};

}  // namespace dlscale::report::format
