#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/printable.hpp"
#include "report/format/column_meaning.hpp"
#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

/// Metrics of one name, which the format groups.
struct MetricFamily {
  std::string name;
  std::string_view type;
  std::string unit;  ///< empty without one
  std::vector<std::string> samples = {};
};

std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const bool valid = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                     !name.starts_with("__");
  return valid ? name : "x" + name;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

void append_label(std::string& labels, std::string_view name, std::string_view text) {
  labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", name, escape(text));
}

/// The labels of each row, from its question. Rows of the same question get a number.
std::vector<std::string> labels_of(const Document& document, const Table& records,
                                   const TrackedTable& table) {
  std::string common;
  for (const auto& [name, text] : document.labels) {
    const auto column = column_of(records, name);
    const bool is_key = column && records.columns[*column].meaning == Meaning::key;
    if (!is_key && !text.empty()) append_label(common, name, text);
  }
  std::vector<std::string> all;
  std::set<std::pair<std::string, std::string>> met;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string labels = common;
    for (const auto& [heading, text] : table.question(row)) {
      append_label(labels, plain_name(heading), text);
    }
    if (!met.emplace(labels, table.unit(row)).second) {
      append_label(labels, "row", std::to_string(row));
    }
    all.push_back(std::move(labels));
  }
  return all;
}

/// The family of this quantity, whose unit is a part of its name.
MetricFamily& family_of(const Quantity& quantity, std::string_view type, const std::string& kind,
                        std::vector<MetricFamily>& families) {
  const std::string unit = quantity.unit.empty() ? "" : plain_name(quantity.unit);
  std::string name = kind;
  if (!quantity.stem.empty()) name += "_" + plain_name(quantity.stem);
  if (!unit.empty()) name += "_" + unit;
  const auto found = std::ranges::find(families, name, &MetricFamily::name);
  if (found != families.end()) return *found;
  return families.emplace_back(MetricFamily{std::move(name), type, unit});
}

/// All states of a column: those that it declares, and those that it has.
std::vector<std::string> states_of(const TrackedTable& table, std::size_t column) {
  std::vector<std::string> words = table.column(column).states;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& text = table.text(row, column);
    if (!text.empty() && std::ranges::count(words, text) == 0) words.push_back(text);
  }
  return words;
}

/// A number as a gauge; a state as one sample for each possible word, 1 for the current one.
void append_families(const Document& document, const Table& records, const std::string& kind,
                     std::vector<MetricFamily>& families) {
  const TrackedTable table(records);
  const std::vector<std::string> labels = labels_of(document, records, table);
  for (std::size_t column = 0; column < records.columns.size(); ++column) {
    const bool is_number = std::ranges::count(table.numbers(), column) > 0;
    if (!is_number && std::ranges::count(table.states(), column) == 0) continue;
    const std::vector<std::string> words = states_of(table, column);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::string& text = table.text(row, column);
      if (text.empty()) continue;
      if (is_number) {
        MetricFamily& family = family_of(table.quantity(row, column), "gauge", kind, families);
        family.samples.push_back(fmt::format("{}{{{}}} {}", family.name, labels[row], text));
        continue;
      }
      MetricFamily& family =
          family_of({table.column(column).heading, ""}, "stateset", kind, families);
      for (const std::string& word : words) {
        std::string state = labels[row];
        append_label(state, family.name, word);
        family.samples.push_back(
            fmt::format("{}{{{}}} {}", family.name, state, word == text ? 1 : 0));
      }
    }
  }
}

/// Kind of the document. The headline is its help text, since it differs in every run.
std::string info_text(const Document& document, const std::string& kind) {
  std::string labels;
  for (const auto& [name, text] : document.labels) append_label(labels, name, text);
  std::string out = fmt::format("# TYPE {} info\n", kind);
  if (!document.lead.empty()) out += fmt::format("# HELP {} {}\n", kind, escape(document.lead));
  return out + fmt::format("{}_info{{{}}} 1\n", kind, labels);
}

std::string write_openmetrics(const Document& document, const Terminal&) {
  const std::string kind = plain_kind_of(document);
  std::vector<MetricFamily> families;
  append_families(document, tracked_records(document), kind, families);
  append_families(document, document.cells, kind + "_cell", families);
  if (families.empty()) {
    throw ConfigError(
        fmt::format("a {} has no numbers that could be metrics. Use the format json or csv.",
                    kind_of(document)));
  }
  std::string out = info_text(document, kind);
  for (const MetricFamily& family : families) {
    out += fmt::format("# TYPE {} {}\n", family.name, family.type);
    if (!family.unit.empty()) out += fmt::format("# UNIT {} {}\n", family.name, family.unit);
    for (const std::string& sample : family.samples) out += sample + "\n";
  }
  return out + "# EOF\n";
}

}  // namespace

extern const Format openmetrics_format;
const Format openmetrics_format{"openmetrics",
                                "OpenMetrics text: gauges and states, labels from the question",
                                write_openmetrics};

}  // namespace dlscale::report::format
