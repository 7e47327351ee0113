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
#include "core/text/shown_text.hpp"
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

/// A heading without its unit, and for an end of an interval the name of the value.
struct Heading {
  std::string stem;
  std::string_view unit;  ///< full name; empty without a unit
  std::string of;         ///< empty: not an end of an interval
  bool is_low = false;
};

Heading parsed(const std::string& heading) {
  Heading result;
  const UnitName* unit = unit_of_heading(heading);
  if (unit != nullptr) result.unit = unit->name;
  result.stem = heading.substr(0, heading.size() - (unit ? unit->unit.size() : 0));
  while (result.stem.ends_with('_')) result.stem.pop_back();
  for (const std::string_view end : {"low", "high"}) {
    const std::string after = fmt::format("_{}", end);
    // A bare end belongs to the interval of a prediction beside a measurement.
    if (result.stem == end) result.of = "predicted";
    if (result.stem.ends_with(after)) {
      result.of = result.stem.substr(0, result.stem.size() - after.size());
    }
    if (!result.of.empty()) {
      result.is_low = end == "low";
      break;
    }
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

Measure in_si(std::string_view text) {
  const std::string name = slug_of(text);
  return {name.empty() ? "value" : name, 1};
}

Measure measure_of(const std::string& stem, std::string_view unit) {
  return in_si(fmt::format("{} {}", stem, unit));
}

Measure answer_in(std::string_view unit) {
  if (unit == "seconds") return {"latency", ns_per_s};
  if (unit == "per_second") return {"throughput", 1};
  return in_si(unit);
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
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      meanings_.push_back(meaning_of(table, i));
    }
    if (std::ranges::count(meanings_, Meaning::value_in_unit) > 0) {
      unit_ = column_of(table, "unit");
    }
    for (const std::string_view name : name_headings) {
      if (!name_) name_ = column_of(table, name);
    }
    if (const auto machine = column_of(table, "machine"); machine && is_of_one(*machine)) {
      left_out_ = machine;
    }
    find_numbers();
  }

  [[nodiscard]] bool any() const { return !numbers_.empty(); }

  void append(json& metrics) {
    for (std::size_t row = 0; row < table_.rows.size(); ++row) append_row(row, metrics);
  }

 private:
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
    return table_.rows[row].at(column).text;
  }
  /// Whether a column has a single value. A Bencher project has a testbed for the machine.
  [[nodiscard]] bool is_of_one(std::size_t column) const {
    return std::ranges::all_of(table_.rows, [&](const auto& row) {
      return row.at(column).text == table_.rows.front().at(column).text;
    });
  }
  [[nodiscard]] bool is_number(std::size_t column) const {
    return meanings_[column] == Meaning::value || meanings_[column] == Meaning::value_in_unit;
  }

  void find_numbers() {
    std::map<std::pair<std::string, std::string_view>, std::size_t> places;
    std::vector<std::pair<std::size_t, Heading>> ends;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const std::string& name = table_.columns[i].heading;
      if (!is_number(i) || is_among(beside_the_answer, name)) continue;
      const Heading heading = parsed(name);
      if (!heading.of.empty()) ends.emplace_back(i, heading);
      places.emplace(std::pair(heading.stem, heading.unit), numbers_.size());
      numbers_.push_back({i, {}, {}});
    }
    std::set<std::size_t> joined;
    for (const auto& [column, heading] : ends) {
      const auto whole = places.find({heading.of, heading.unit});
      if (whole == places.end()) continue;
      Numbers& numbers = numbers_[whole->second];
      (heading.is_low ? numbers.low : numbers.high) = column;
      joined.insert(column);
    }
    std::erase_if(numbers_, [&](const Numbers& each) { return joined.contains(each.value); });
  }

  /// Whether a row has an answer, according to its state.
  [[nodiscard]] bool has_answer(std::size_t row) const {
    for (std::size_t i = 0; i < meanings_.size(); ++i) {
      if (meanings_[i] == Meaning::state && is_among(not_measured, text(row, i))) return false;
    }
    return true;
  }

  /// Key columns of a row: "conv batch=8 layer=conv1".
  [[nodiscard]] std::string benchmark(std::size_t row) const {
    std::string result = name_ ? text(row, *name_) : "";
    for (std::size_t i = 0; i < meanings_.size(); ++i) {
      const bool is_said = meanings_[i] == Meaning::key && i != name_ && i != unit_ &&
                           i != left_out_ && !text(row, i).empty();
      if (!is_said) continue;
      result += fmt::format("{}{}={}", result.empty() ? "" : " ", table_.columns[i].heading,
                            text(row, i));
    }
    return valid_utf8(result.empty() ? "all" : result);
  }

  [[nodiscard]] Measure measure(std::size_t row, std::size_t column) const {
    const std::string& name = table_.columns[column].heading;
    if (meanings_[column] == Meaning::value) {
      const Heading heading = parsed(name);
      return is_among(answers, name) ? answer_in(heading.unit)
                                     : measure_of(heading.stem, heading.unit);
    }
    EXPECT(unit_.has_value());
    const std::string& unit = text(row, *unit_);
    const UnitName* known = unit_of_metric(unit);
    const std::string_view in_full = known == nullptr ? std::string_view(unit) : known->name;
    return is_among(answers, name) ? answer_in(in_full) : measure_of(name, in_full);
  }

  void append_row(std::size_t row, json& metrics) {
    if (!has_answer(row)) return;
    json measures = json::object();
    for (const Numbers& each : numbers_) {
      const std::optional<double> value = finite_number(text(row, each.value));
      if (!value) continue;
      const Measure measure = this->measure(row, each.value);
      expect_length(measure.name, longest_measure, "measure");
      json& metric = measures[measure.name];
      metric["value"] = *value * measure.scale;
      for (const auto& [key, column] :
           {std::pair{"lower_value", each.low}, std::pair{"upper_value", each.high}}) {
        const auto end = column ? finite_number(text(row, *column)) : std::nullopt;
        if (end) metric[key] = *end * measure.scale;
      }
    }
    if (measures.empty()) return;
    add(benchmark(row), measures, metrics);
  }

  /// Rows of the same question get a number among themselves, so other rows do not change their
  /// names. Rows of several commits are refused.
  void add(std::string name, json& measures, json& metrics) {
    const auto has_one = [&](const std::string& benchmark) {
      if (!metrics.contains(benchmark)) return false;
      return std::ranges::any_of(measures.items(), [&](const auto& measure) {
        return metrics[benchmark].contains(measure.key());
      });
    };
    if (has_one(name)) {
      const auto commit = column_of(table_, "commit");
      if (commit && !is_of_one(*commit)) {
        throw ConfigError(fmt::format(
            "{} is told of several commits, and a report of Bencher is of one. Choose the newest "
            "alone, or use the format json or csv.",
            shown_text(name)));
      }
      name += fmt::format(" row={}", ++repeated_[name] + 1);
    }
    expect_length(name, longest_benchmark, "benchmark");
    metrics[name].update(measures);
  }

  static void expect_length(const std::string& name, std::size_t most, const char* what) {
    if (name.size() <= most) return;
    throw ConfigError(
        fmt::format("the {} {} has a name of {} bytes, and Bencher takes {}. Use the format json "
                    "or csv.",
                    what, shown_text(name), name.size(), most));
  }

  const Table& table_;
  std::vector<Meaning> meanings_;
  std::vector<Numbers> numbers_;
  std::optional<std::size_t> unit_;
  std::optional<std::size_t> name_;
  std::optional<std::size_t> left_out_;  ///< a key that all rows share
  std::map<std::string, int> repeated_;  ///< number of further rows with the same name
};

std::string write_bencher(const Document& document, const Terminal&) {
  const Table& judged = document.verdicts.columns.empty() ? document.records : document.verdicts;
  Metrics records(judged);
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

/// Tracks the levels: benchmarks, their measures, the numbers of each.
class Shape : public nlohmann::json_sax<json> {
 public:
  bool null() override { return false; }
  bool boolean(bool) override { return false; }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t&) override { return false; }
  bool binary(binary_t&) override { return false; }
  bool start_array(std::size_t) override { return false; }
  bool end_array() override { return false; }
  bool start_object(std::size_t) override {
    is_filled_ = depth_ == 0;  // the outermost object may be empty
    return ++depth_ <= deepest;
  }
  bool key(string_t& name) override {
    if (depth_ < deepest) return !name.empty();
    is_filled_ = is_filled_ || name == "value";
    return name == "value" || name == "lower_value" || name == "upper_value";
  }
  bool end_object() override {
    --depth_;
    const bool was_filled = is_filled_;
    is_filled_ = true;  // by the object that ended here
    return was_filled;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  static constexpr int deepest = 3;
  [[nodiscard]] bool number() const { return depth_ == deepest; }

  int depth_ = 0;
  bool is_filled_ = false;  ///< whether the innermost object has its required members
};

}  // namespace

extern const Format bencher_format;
const Format bencher_format{
    "bencher", "Bencher Metric Format: a benchmark a row, its numbers as measures", write_bencher};

bool is_bencher_metrics(std::istream& content) {
  content.clear();
  content.seekg(0);
  Shape shape;
  return json::sax_parse(content, &shape);
}

}  // namespace dlscale::report::format
