#include "report/format/bencher.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <istream>
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
constexpr std::array<std::string_view, 14> beside_the_answer{
    "a_s",    "base",    "before_value", "after_value", "level", "p",    "p_adjusted",
    "rounds", "repeats", "runs",         "windows",     "fits",  "rank", "within_limits"};
/// Keys whose value names a row; for other keys the name is added.
constexpr std::array<std::string_view, 4> name_headings{"benchmark", "key", "name", "measurement"};
/// States without an answer, whatever number the row has: the time until a crash is not a latency.
constexpr std::array<std::string_view, 9> not_measured{
    "wrong",       "failed", "crashed",          "timeout",     "interrupted",
    "unsupported", "left",   "nothing measured", "not measured"};

/// A column of numbers; for an end of an interval also the name of the value.
struct Heading {
  Quantity quantity;
  std::string of;  ///< empty: not an end of an interval
  bool is_low = false;
};

Heading parsed(const std::string& heading) {
  Heading result{quantity_of(heading), ""};
  const std::string& stem = result.quantity.stem;
  for (const std::string_view end : {"low", "high"}) {
    const std::string after = fmt::format("_{}", end);
    // A bare end belongs to the interval of a prediction beside a measurement.
    if (stem == end) result.of = "predicted";
    if (stem.ends_with(after)) result.of = stem.substr(0, stem.size() - after.size());
    if (result.of.empty()) continue;
    result.is_low = end == "low";
    break;
  }
  return result;
}

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
struct Measure {
  std::string name;
  double scale = 1;
};

Measure measure_of(const std::string& heading, const Quantity& quantity) {
  const bool is_answer = is_among(answers, heading);
  if (is_answer && quantity.unit == "seconds") return {"latency", ns_per_s};
  if (is_answer && quantity.unit == "per_second") return {"throughput", 1};
  const std::string name = slug_of((is_answer ? "" : quantity.stem + " ") + quantity.unit);
  return {name.empty() ? "value" : name, 1};
}

/// A column of numbers and, if present, the columns of its interval.
struct Numbers {
  std::size_t value = 0;
  std::optional<std::size_t> low;
  std::optional<std::size_t> high;
};

/// A table as benchmarks with measures.
class Metrics {
 public:
  explicit Metrics(const Table& table) : table_(table) {
    for (const std::string_view name : name_headings) {
      if (!name_) name_ = column_of(table, name);
    }
    commit_ = column_of(table, "commit");
    // A Bencher project has a testbed for the machine.
    const auto machine = column_of(table, "machine");
    if (machine && table_.is_constant(*machine)) left_out_ = machine;
    find_numbers();
  }

  [[nodiscard]] bool any() const { return !numbers_.empty(); }

  void append(json& metrics) {
    for (std::size_t row = 0; row < table_.rows(); ++row) append_row(row, metrics);
  }

 private:
  void find_numbers() {
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    std::vector<std::pair<std::size_t, Heading>> ends;
    for (std::size_t i = 0; i < table_.columns(); ++i) {
      if (!table_.is_number(i) || is_among(beside_the_answer, table_.heading(i))) continue;
      const Heading heading = parsed(table_.heading(i));
      if (!heading.of.empty()) ends.emplace_back(i, heading);
      places.emplace(std::pair(heading.quantity.stem, heading.quantity.unit), numbers_.size());
      numbers_.push_back({i, {}, {}});
    }
    std::set<std::size_t> joined;
    for (const auto& [column, heading] : ends) {
      const auto whole = places.find({heading.of, heading.quantity.unit});
      if (whole == places.end()) continue;
      Numbers& numbers = numbers_[whole->second];
      (heading.is_low ? numbers.low : numbers.high) = column;
      joined.insert(column);
    }
    std::erase_if(numbers_, [&](const Numbers& each) { return joined.contains(each.value); });
  }

  /// Whether a row has an answer, according to its state.
  [[nodiscard]] bool has_answer(std::size_t row) const {
    for (std::size_t i = 0; i < table_.columns(); ++i) {
      if (table_.is_state(i) && is_among(not_measured, table_.text(row, i))) return false;
    }
    return true;
  }

  /// Key columns of a row: "conv batch=8 layer=conv1".
  [[nodiscard]] std::string benchmark(std::size_t row) const {
    std::string result = name_ ? table_.text(row, *name_) : "";
    for (std::size_t i = 0; i < table_.columns(); ++i) {
      const std::string& text = table_.text(row, i);
      if (!table_.is_key(i) || i == name_ || i == left_out_ || text.empty()) continue;
      result += fmt::format("{}{}={}", result.empty() ? "" : " ", table_.heading(i), text);
    }
    return valid_utf8(result.empty() ? "all" : result);
  }

  void append_row(std::size_t row, json& metrics) {
    if (!has_answer(row)) return;
    json measures = json::object();
    for (const Numbers& each : numbers_) {
      const std::optional<double> value = finite_number(table_.text(row, each.value));
      if (!value) continue;
      const Measure measure =
          measure_of(table_.heading(each.value), table_.quantity(row, each.value));
      expect_length(measure.name, longest_measure, "measure");
      json& metric = measures[measure.name];
      metric["value"] = *value * measure.scale;
      for (const auto& [key, column] :
           {std::pair{"lower_value", each.low}, std::pair{"upper_value", each.high}}) {
        const auto end = column ? finite_number(table_.text(row, *column)) : std::nullopt;
        if (end) metric[key] = *end * measure.scale;
      }
    }
    if (!measures.empty()) add(benchmark(row), measures, metrics);
  }

  /// Rows of the same question get a number among themselves, so other rows do not change their
  /// names. Rows of several commits are refused.
  void add(std::string name, const json& measures, json& metrics) {
    const json known = metrics.value(name, json::object());
    const bool has_one = std::ranges::any_of(
        measures.items(), [&](const auto& measure) { return known.contains(measure.key()); });
    if (has_one && commit_ && !table_.is_constant(*commit_)) {
      throw ConfigError(fmt::format(
          "{} covers several commits, and a report of Bencher covers one. Choose the newest "
          "alone, or use the format json or csv.",
          escape_for_terminal(name)));
    }
    if (has_one) name += fmt::format(" row={}", ++repeated_[name] + 1);
    expect_length(name, longest_benchmark, "benchmark");
    metrics[name].update(measures);
  }

  static void expect_length(const std::string& name, std::size_t most, const char* what) {
    if (name.size() <= most) return;
    throw ConfigError(
        fmt::format("the {} {} has a name of {} bytes, and Bencher takes {}. Use the format json "
                    "or csv.",
                    what, escape_for_terminal(name), name.size(), most));
  }

  TrackedTable table_;
  std::vector<Numbers> numbers_;
  std::optional<std::size_t> name_;
  std::optional<std::size_t> commit_;
  std::optional<std::size_t> left_out_;  ///< a key that all rows share
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

/// Whether a non-empty object has values that all satisfy `holds(key, value)`.
template <class Holds>
bool all_members(const json& object, const Holds& holds) {
  return object.is_object() && !object.empty() &&
         std::ranges::all_of(object.items(),
                             [&](const auto& it) { return holds(it.key(), it.value()); });
}

bool is_measure(const std::string& name, const json& measure) {
  constexpr std::array<std::string_view, 3> keys{"value", "lower_value", "upper_value"};
  return !name.empty() && measure.contains("value") &&
         all_members(measure, [&](const std::string& key, const json& number) {
           return is_among(keys, key) && number.is_number();
         });
}

bool is_benchmark(const std::string& name, const json& benchmark) {
  return !name.empty() && all_members(benchmark, is_measure);
}

}  // namespace

extern const Format bencher_format;
const Format bencher_format{
    "bencher", "Bencher Metric Format: a benchmark a row, its numbers as measures", write_bencher};

bool is_bencher_metrics(std::istream& content) {
  content.clear();
  content.seekg(0);
  const json metrics = json::parse(content, nullptr, false);
  return metrics == json::object() || all_members(metrics, is_benchmark);
}

}  // namespace dlscale::report::format
