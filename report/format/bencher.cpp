#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/base/printable.hpp"
#include "report/format/column_meaning.hpp"
#include "report/format/format.hpp"
#include "report/format/text_width.hpp"

namespace dlscale::report::format {
namespace {

using nlohmann::json;

// Bencher Metric Format, https://bencher.dev/docs/reference/bencher-metric-format:
// {BENCHMARK: {MEASURE: {"value": 1, "lower_value": 1, "upper_value": 1}}}. Every project has two
// measures: "latency", in ns, and "throughput", in operations per second
// (lib/bencher_json/src/project/measure/built_in.rs). Bencher does not know the unit of any other
// measure, so its name includes the unit.
constexpr std::size_t longest_benchmark = 1024;  ///< bytes; lib/bencher_valid/src/benchmark_name.rs
constexpr std::size_t longest_measure = 64;      ///< lib/bencher_valid/src/lib.rs
constexpr double ns_per_s = 1e9;

/// Main columns of a row: their unit identifies the measure.
constexpr std::array<std::string_view, 4> answers{"time_s", "b_s", "new", "value"};
/// Numbers of the other side of a comparison, since a report covers one version, and numbers that
/// explain the verdict.
constexpr std::array<std::string_view, 15> beside_the_answer{
    "a_s",    "base",    "before_value", "after_value", "level", "p",    "p_adjusted",
    "rounds", "repeats", "runs",         "windows",     "fits",  "rank", "within_limits",
    "margin"};
/// Keys whose value names a row; for other keys the name is added.
constexpr std::array<std::string_view, 4> name_headings{"benchmark", "key", "name", "measurement"};
/// States without an answer, whatever number the row has: the time until a crash is not a latency.
constexpr std::array<std::string_view, 9> not_measured{
    "wrong",       "failed", "crashed",          "timeout",     "interrupted",
    "unsupported", "left",   "nothing measured", "not measured"};

/// Lower-case letters and digits with "-" in between, as Bencher makes slugs.
std::string slug_of(std::string_view text) {
  std::string slug;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      slug += static_cast<char>(std::tolower(letter));
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (slug.ends_with('-')) slug.pop_back();
  return slug;
}

/// A measure's name, and the factor from SI.
std::pair<std::string, double> measure_of(const std::string& heading, const Quantity& quantity) {
  const bool is_answer = is_among(answers, heading);
  if (is_answer && quantity.unit == "seconds") return {"latency", ns_per_s};
  if (is_answer && quantity.unit == "per_second") return {"throughput", 1};
  const std::string name = slug_of((is_answer ? "" : quantity.stem + " ") + quantity.unit);
  return {name.empty() ? "value" : name, 1};
}

std::optional<double> finite_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void expect_length(const std::string& name, std::size_t most, const char* what) {
  if (name.size() <= most) return;
  throw ConfigError(fmt::format(
      "the {} {} has a name of {} bytes, and Bencher takes {}. Use the format json or csv.", what,
      escape_for_terminal(name), name.size(), most));
}

/// A table as benchmarks with measures.
class Metrics {
 public:
  explicit Metrics(const Table& table) : table_(table) {
    for (const std::string_view name : name_headings) {
      const auto column = column_of(table, name);
      const bool is_key = column && table.columns[*column].meaning == Meaning::key;
      if (name_.empty() && is_key) name_ = name;
    }
    for (const std::size_t column : table_.numbers()) {
      if (is_among(beside_the_answer, table_.column(column).heading)) continue;
      numbers_[column];
    }
    join_intervals();
  }

  [[nodiscard]] bool any() const { return !numbers_.empty(); }

  void append(json& metrics) {
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const json measures = has_answer(row) ? measures_of(row) : json::object();
      if (!measures.empty()) add(benchmark(row), measures, metrics);
    }
  }

 private:
  /// Moves "x_low_s" and "x_high_s" to "x_s". A bare "low_s" is of "predicted_s", the prediction
  /// beside a measurement.
  void join_intervals() {
    std::set<std::size_t> ends;
    for (auto& [column, own_ends] : numbers_) {
      const Quantity whole = table_.quantity_of(column);
      for (const auto& [end, other] : numbers_) {
        const Quantity part = table_.quantity_of(end);
        for (const auto& [word, key] : {std::pair{"low", "lower_value"}, {"high", "upper_value"}}) {
          const bool is_end = part.stem == fmt::format("{}_{}", whole.stem, word) ||
                              (part.stem == word && whole.stem == "predicted");
          if (!is_end || part.unit != whole.unit) continue;
          own_ends[key] = end;
          ends.insert(end);
        }
      }
    }
    for (const std::size_t end : ends) numbers_.erase(end);
  }

  /// Whether a row has an answer, according to its states.
  [[nodiscard]] bool has_answer(std::size_t row) const {
    return std::ranges::none_of(table_.states(), [&](std::size_t state) {
      return is_among(not_measured, table_.text(row, state));
    });
  }

  /// Question of a row: "conv batch=8 layer=conv1". A Bencher project has a testbed for the
  /// machine.
  [[nodiscard]] std::string benchmark(std::size_t row) const {
    std::string name;
    std::string keys;
    for (const auto& [heading, text] : table_.question(row)) {
      if (heading == name_) {
        name = text;
      } else if (heading != "machine" || !table_.is_constant(heading)) {
        keys += fmt::format(" {}={}", heading, text);
      }
    }
    const std::string all = name.empty() ? keys.substr(keys.empty() ? 0 : 1) : name + keys;
    return printable(all.empty() ? "all" : all);
  }

  [[nodiscard]] json measures_of(std::size_t row) const {
    json measures = json::object();
    for (const auto& [column, ends] : numbers_) {
      const std::optional<double> value = finite_number(table_.text(row, column));
      if (!value) continue;
      const auto [name, scale] =
          measure_of(table_.column(column).heading, table_.quantity(row, column));
      expect_length(name, longest_measure, "measure");
      measures[name]["value"] = *value * scale;
      for (const auto& [key, end] : ends) {
        if (const auto limit = finite_number(table_.text(row, end))) {
          measures[name][key] = *limit * scale;
        }
      }
    }
    return measures;
  }

  /// Rows of the same question get a number among themselves, so other rows do not change their
  /// names. Rows of several commits are refused.
  void add(std::string name, const json& measures, json& metrics) {
    const json known = metrics.value(name, json::object());
    const bool has_one = std::ranges::any_of(
        measures.items(), [&](const auto& measure) { return known.contains(measure.key()); });
    if (has_one && !table_.is_constant("commit")) {
      throw ConfigError(fmt::format(
          "{} covers several commits, and a report of Bencher covers one. Choose the newest "
          "alone, or use the format json or csv.",
          escape_for_terminal(name)));
    }
    if (has_one) name += fmt::format(" row={}", ++repeated_[name] + 1);
    expect_length(name, longest_benchmark, "benchmark");
    metrics[name].update(measures);
  }

  TrackedTable table_;
  std::map<std::size_t, std::map<std::string, std::size_t>> numbers_;  ///< and ends of intervals
  std::string_view name_;                ///< the heading whose text names a row
  std::map<std::string, int> repeated_;  ///< number of further rows with the same name
};

std::string write_bencher(const Document& document, const Terminal&) {
  Metrics records(tracked_records(document));
  Metrics cells(document.cells);
  if (!records.any() && !cells.any()) {
    throw ConfigError(
        fmt::format("a {} has no numbers that Bencher could follow. Use the format json or csv.",
                    kind_of(document)));
  }
  json metrics = json::object();
  records.append(metrics);
  cells.append(metrics);
  return metrics.dump(2) + "\n";
}

}  // namespace

extern const Format bencher_format;
const Format bencher_format{
    "bencher", "Bencher Metric Format: a benchmark a row, its numbers as measures", write_bencher};

}  // namespace dlscale::report::format
