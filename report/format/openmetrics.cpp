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
  for (const char c : valid_utf8(text)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

void append_label(std::string& labels, std::string_view name, std::string_view text) {
  labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", name, escape(text));
}

/// A table as metric families. Units of rows go into the names of families.
class Exposition {
 public:
  Exposition(const Document& document, const Table& table, std::string kind)
      : table_(table), kind_(std::move(kind)) {
    name_rows(document);
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table_.is_number(i)) append_values(i);
      if (table_.is_state(i)) append_states(i);
    }
  }

  [[nodiscard]] const std::vector<MetricFamily>& families() const { return families_; }

 private:
  /// The labels of each row, from its question. Rows of the same question get a number.
  void name_rows(const Document& document) {
    std::set<std::string> own;
    for (std::size_t i = 0; i < table_.columns(); ++i) {
      if (table_.is_key(i)) own.insert(plain_name(table_.heading(i)));
    }
    std::string common;
    for (const auto& [name, text] : document.labels) {
      if (!own.contains(name) && !text.empty()) append_label(common, name, text);
    }
    std::set<std::pair<std::string, std::string>> met;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      std::string labels = common;
      for (std::size_t i = 0; i < table_.columns(); ++i) {
        const std::string& text = table_.text(row, i);
        if (table_.is_key(i) && !text.empty()) {
          append_label(labels, plain_name(table_.heading(i)), text);
        }
      }
      if (!met.emplace(labels, table_.unit(row)).second) {
        append_label(labels, "row", std::to_string(row));
      }
      labels_.push_back(std::move(labels));
    }
  }

  MetricFamily& family(const Quantity& quantity, std::string_view type) {
    const std::string unit = quantity.unit.empty() ? "" : plain_name(quantity.unit);
    std::string name = kind_;
    if (!quantity.stem.empty()) name += "_" + plain_name(quantity.stem);
    if (!unit.empty()) name += "_" + unit;
    const auto found = std::ranges::find(families_, name, &MetricFamily::name);
    if (found != families_.end()) return *found;
    return families_.emplace_back(MetricFamily{std::move(name), type, unit});
  }

  void append_values(std::size_t column) {
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::string& text = table_.text(row, column);
      if (text.empty()) continue;
      MetricFamily& values = family(table_.quantity(row, column), "gauge");
      values.samples.push_back(fmt::format("{}{{{}}} {}", values.name, labels_[row], text));
    }
  }

  /// One sample for each possible word: 1 for the current state, 0 for all others.
  void append_states(std::size_t column) {
    std::vector<std::string> words = table_.column(column).states;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::string& text = table_.text(row, column);
      if (!text.empty() && std::ranges::count(words, text) == 0) words.push_back(text);
    }
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const std::string& text = table_.text(row, column);
      if (text.empty()) continue;
      MetricFamily& states = family({table_.heading(column), ""}, "stateset");
      for (const std::string& word : words) {
        std::string labels = labels_[row];
        append_label(labels, states.name, word);
        states.samples.push_back(
            fmt::format("{}{{{}}} {}", states.name, labels, word == text ? 1 : 0));
      }
    }
  }

  TrackedTable table_;
  std::string kind_;
  std::vector<std::string> labels_;
  std::vector<MetricFamily> families_;
};

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
  std::vector<MetricFamily> families =
      Exposition(document, tracked_records(document), kind).families();
  std::ranges::copy(Exposition(document, document.cells, kind + "_cell").families(),
                    std::back_inserter(families));
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
