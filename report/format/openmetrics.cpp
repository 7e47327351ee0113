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
#include "report/format/column_meaning.hpp"
#include "report/format/format.hpp"
#include "report/format/text_width.hpp"

namespace dlscale::report::format {
namespace {

/// Metrics of one name, which the format groups.
struct MetricFamily {
  std::string name;
  std::string_view type;
  std::string unit;  ///< empty without one
  std::vector<std::string> samples;
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

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

std::string label(std::string_view name, std::string_view text) {
  return fmt::format("{}=\"{}\"", name, escape(text));
}

void append_label(std::string& labels, const std::string& one) {
  labels += (labels.empty() ? "" : ",") + one;
}

/// A table and its metric families.
class Exposition {
 public:
  Exposition(const Document& document, const Table& table, std::string kind)
      : table_(table), kind_(std::move(kind)) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      meanings_.push_back(meaning_of(table, i));
    }
    unit_ = column_of(table, "unit").value_or(table.columns.size());
    const bool has_units = std::ranges::count(meanings_, Meaning::value_in_unit) > 0;
    if (!has_units) unit_ = table.columns.size();
    name_rows(document);
    for (std::size_t i = 0; i < table.columns.size(); ++i) append_column(i);
  }

  [[nodiscard]] const std::vector<MetricFamily>& families() const { return families_; }

 private:
  [[nodiscard]] bool is_key(std::size_t column) const {
    return meanings_[column] == Meaning::key && column != unit_;
  }

  /// The labels of each row, from its question. Rows of the same question get a number.
  void name_rows(const Document& document) {
    std::set<std::string> own;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      if (is_key(i)) own.insert(plain_name(table_.columns[i].heading));
    }
    std::string common;
    for (const auto& [name, text] : document.labels) {
      if (!own.contains(name) && !text.empty()) append_label(common, label(name, text));
    }
    std::set<std::string> met;
    for (const auto& row : table_.rows) {
      std::string labels = common;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (!is_key(i) || row[i].text.empty()) continue;
        append_label(labels, label(plain_name(table_.columns[i].heading), row[i].text));
      }
      // Rows of other units belong to other families.
      const std::string unit = unit_ < row.size() ? row[unit_].text : "";
      if (!met.insert(labels + '\n' + unit).second) {
        append_label(labels, label("row", std::to_string(labels_.size())));
      }
      labels_.push_back(std::move(labels));
    }
  }

  void append_column(std::size_t column) {
    switch (meanings_[column]) {
      case Meaning::value:
        append_values(column);
        return;
      case Meaning::value_in_unit:
        append_values_in_units(column);
        return;
      case Meaning::state:
        append_states(column);
        return;
      case Meaning::by_name:
      case Meaning::key:
      case Meaning::remark:
        return;
    }
  }

  MetricFamily& family(const std::string& stem, std::string_view type, std::string_view unit) {
    std::string name = kind_;
    for (const std::string_view part : {std::string_view(stem), unit}) {
      if (!part.empty()) name.append("_").append(part);
    }
    const auto found = std::ranges::find(families_, name, &MetricFamily::name);
    if (found != families_.end()) return *found;
    return families_.emplace_back(MetricFamily{std::move(name), type, std::string(unit), {}});
  }

  void append_sample(MetricFamily& family, std::size_t row, const std::string& value) const {
    family.samples.push_back(fmt::format("{}{{{}}} {}", family.name, labels_[row], value));
  }

  void append_values(std::size_t column) {
    const std::string& heading = table_.columns[column].heading;
    const UnitName* unit = unit_of_heading(heading);
    std::string stem = heading.substr(0, heading.size() - (unit ? unit->unit.size() : 0));
    while (stem.ends_with('_')) stem.pop_back();
    if (!stem.empty()) stem = plain_name(stem);
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const std::string& text = table_.rows[i].at(column).text;
      if (text.empty()) continue;
      append_sample(family(stem, "gauge", unit ? unit->name : std::string_view()), i, text);
    }
  }

  void append_values_in_units(std::size_t column) {
    EXPECT(unit_ < table_.columns.size());
    const std::string stem = plain_name(table_.columns[column].heading);
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const std::string& text = table_.rows[i].at(column).text;
      if (text.empty()) continue;
      const std::string& unit = table_.rows[i].at(unit_).text;
      const UnitName* known = unit_of_metric(unit);
      std::string name(known == nullptr ? "" : known->name);
      if (known == nullptr && !unit.empty()) name = plain_name(unit);
      append_sample(family(stem, "gauge", name), i, text);
    }
  }

  /// One sample for each possible word: 1 for the current state, 0 for all others.
  void append_states(std::size_t column) {
    std::vector<std::string> words = table_.columns[column].states;
    for (const auto& row : table_.rows) {
      const std::string& text = row.at(column).text;
      if (!text.empty() && std::ranges::find(words, text) == words.end()) words.push_back(text);
    }
    const std::string stem = plain_name(table_.columns[column].heading);
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const std::string& text = table_.rows[i].at(column).text;
      if (text.empty()) continue;
      MetricFamily& states = family(stem, "stateset", "");
      for (const std::string& word : words) {
        std::string labels = labels_[i];
        append_label(labels, label(states.name, word));
        states.samples.push_back(
            fmt::format("{}{{{}}} {}", states.name, labels, word == text ? 1 : 0));
      }
    }
  }

  const Table& table_;
  std::string kind_;
  std::vector<Meaning> meanings_;
  std::size_t unit_ = 0;  ///< column of units; one past the last if there is none
  std::vector<std::string> labels_;
  std::vector<MetricFamily> families_;
};

std::string family_text(const MetricFamily& family) {
  std::string out = fmt::format("# TYPE {} {}\n", family.name, family.type);
  if (!family.unit.empty()) out += fmt::format("# UNIT {} {}\n", family.name, family.unit);
  for (const std::string& sample : family.samples) out += sample + "\n";
  return out;
}

/// Kind of the document. The headline is its help text, since it differs in every run.
std::string info_text(const Document& document, const std::string& kind) {
  std::string labels;
  for (const auto& [name, text] : document.labels) append_label(labels, label(name, text));
  std::string out = fmt::format("# TYPE {} info\n", kind);
  if (!document.lead.empty()) out += fmt::format("# HELP {} {}\n", kind, escape(document.lead));
  return out + fmt::format("{}_info{{{}}} 1\n", kind, labels);
}

std::string write_openmetrics(const Document& document, const Terminal&) {
  const std::string kind = plain_kind_of(document);
  // Verdicts cover every item; records may cover changes only.
  const Table& judged = document.verdicts.columns.empty() ? document.records : document.verdicts;
  const Exposition records(document, judged, kind);
  const Exposition cells(document, document.cells, kind + "_cell");
  if (records.families().empty() && cells.families().empty()) {
    throw ConfigError(
        fmt::format("a {} has no numbers that could be metrics. Use the format json or csv.",
                    kind_of(document)));
  }
  std::string out = info_text(document, kind);
  for (const Exposition* part : {&records, &cells}) {
    for (const MetricFamily& family : part->families()) out += family_text(family);
  }
  return out + "# EOF\n";
}

}  // namespace

extern const Format openmetrics_format;
const Format openmetrics_format{"openmetrics",
                                "OpenMetrics text: gauges and states, labels from the question",
                                write_openmetrics};

}  // namespace dlscale::report::format
