#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json_problem.hpp"
#include "core/shown_text.hpp"
#include "core/statistics.hpp"
#include "report/history/asv_benchmarks.hpp"
#include "report/history/imports.hpp"
#include "report/history/strict_json.hpp"
#include "report/history/time_text.hpp"

namespace dlscale::report::history {
namespace {

using nlohmann::json;

// The format is that of asv's docs/source/dev.rst and asv/results.py: Results.save() writes
// version 2, and Results.update_to_2() says what version 1 was.

constexpr std::array statistics{"stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
                                "stats_q_75",    "stats_number",  "stats_repeat"};

/// A row of version 2 by the names of its columns; columns at the end may be missing.
json row_of_columns(const json& columns, const json& values) {
  json row = json::object();
  for (std::size_t i = 0; i < values.size() && i < columns.size(); ++i) {
    row[columns.at(i).get<std::string>()] = values.at(i);
  }
  return row;
}

/// What version 1 says of one case: a dictionary, or null.
json statistic_of(const json& of_case, std::string_view name) {
  if (of_case.is_null()) return nullptr;
  if (name == "ci_99_a") return of_case.at("ci_99").at(0);
  if (name == "ci_99_b") return of_case.at("ci_99").at(1);
  return of_case.contains(name) ? of_case.at(name) : json(nullptr);
}

/// A row of version 1 with the columns of version 2: a number alone, or a dictionary.
json row_of_version_1(const json& value) {
  json row = json::object();
  if (!value.is_object()) {
    row["result"] = json::array({value});
    return row;
  }
  const json& result = value.at("result");
  row["result"] = result.is_array() ? result : json::array({result});
  for (const char* column : {"params", "samples"}) {
    if (value.contains(column)) row[column] = value.at(column);
  }
  if (!value.contains("stats") || value.at("stats").is_null()) return row;
  const json& told = value.at("stats");
  const json of_cases = told.is_array() ? told : json::array({told});
  for (const std::string_view column : statistics) {
    json& list = row[std::string(column)] = json::array();
    for (const json& of_case : of_cases) {
      list.push_back(statistic_of(of_case, column.substr(column.find('_') + 1)));
    }
  }
  return row;
}

/// What is told of cases, a line for those of one benchmark of which the same is to be said.
class Remarks {
 public:
  void add(std::string_view before, const std::string& benchmark, const std::string& one_case,
           const std::string& what) {
    const auto same = [&](const Remark& remark) {
      return remark.benchmark == benchmark && remark.what == what;
    };
    const auto found = std::ranges::find_if(remarks_, same);
    if (found != remarks_.end()) {
      ++found->more;
      return;
    }
    remarks_.push_back({std::string(before), benchmark, one_case, what, 0});
  }
  void add_skipped(const std::string& one_case) {
    if (skipped_++ == 0) first_skipped_ = one_case;
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Remark& remark : remarks_) {
      lines.push_back(remark.before + shown_text(remark.one_case) + " " + remark.what);
      if (remark.more > 0) lines.back() += fmt::format(", and so for {} more of it", remark.more);
    }
    const std::string first = shown_text(first_skipped_);
    if (skipped_ == 1) lines.push_back(fmt::format("left out: {} was skipped", first));
    if (skipped_ > 1) {
      lines.push_back(fmt::format("left out: {} cases that were skipped, {} the first of them",
                                  skipped_, first));
    }
    return lines;
  }

 private:
  struct Remark {
    std::string before;
    std::string benchmark;
    std::string one_case;  ///< the first
    std::string what;
    std::size_t more;
  };
  std::vector<Remark> remarks_;
  std::size_t skipped_ = 0;
  std::string first_skipped_;
};

/// A benchmark with its cases: one for each combination of the values of its parameters, in the
/// order of the cartesian product, the last varying fastest (itertools.product).
class Cases {
 public:
  Cases(std::string name, const json& row, const AsvBenchmarks& benchmarks)
      : name_(std::move(name)), row_(row) {
    if (row.contains("params")) {
      for (const json& values : row.at("params")) {
        values_.emplace_back();
        for (const json& value : values) values_.back().push_back(asv_text(value));
      }
    }
    names_ = benchmarks.parameter_names(name_, values_.size());
    if (row.contains("result") && !row.at("result").is_null()) results_ = &row.at("result");
    if (results_ != nullptr) expect_size(*results_, "results");
    if (row.contains("samples") && !row.at("samples").is_null()) samples_ = &row.at("samples");
    if (samples_ != nullptr) expect_size(*samples_, "samples");
  }

  /// Without results all of them failed.
  [[nodiscard]] bool have_results() const { return results_ != nullptr; }
  [[nodiscard]] bool have_parameters() const { return !values_.empty(); }
  [[nodiscard]] std::size_t size() const { return results_->size(); }
  [[nodiscard]] const json& result(std::size_t i) const { return results_->at(i); }
  /// Null where the file has none.
  [[nodiscard]] json samples(std::size_t i) const {
    return samples_ == nullptr ? json(nullptr) : samples_->at(i);
  }
  /// JSON of what the file says of the samples that it leaves out, by its columns; may be empty.
  [[nodiscard]] std::string told_statistics(std::size_t i) const {
    json told = json::object();
    for (const char* column : statistics) {
      if (!row_.contains(column) || !row_.at(column).is_array()) continue;
      const json& list = row_.at(column);
      if (i < list.size() && list.at(i).is_number()) told[column] = list.at(i);
    }
    return told.empty() ? "" : told.dump();
  }

  /// The benchmark and its parameters. Their values stand as Python's repr() writes them: '1' and 1
  /// are two.
  [[nodiscard]] Facts axes(std::size_t i) const {
    Facts axes{{"benchmark", name_}};
    for (std::size_t k = values_.size(); k-- > 0;) {
      std::string name = names_[k];
      while (name.empty() || axes.contains(name)) name += "'";
      axes[name] = values_[k][i % values_[k].size()];
      i /= values_[k].size();
    }
    return axes;
  }

  /// "suite.time_it(n=10, function='range')"
  [[nodiscard]] std::string text(std::size_t i) const {
    std::string inner;
    for (std::size_t k = values_.size(); k-- > 0;) {
      const std::string& value = values_[k][i % values_[k].size()];
      inner = fmt::format("{}={}{}{}", names_[k], value, inner.empty() ? "" : ", ", inner);
      i /= values_[k].size();
    }
    return values_.empty() ? name_ : fmt::format("{}({})", name_, inner);
  }

 private:
  void expect_size(const json& list, const char* what) const {
    std::size_t count = 1;
    for (const auto& values : values_) {
      // So much suffices to tell that it differs, and more could not be counted.
      count = std::min(count, list.size() + 1) * values.size();
    }
    if (list.is_array() && list.size() == count) return;
    throw ConfigError(fmt::format("the parameters of {} have not as many combinations as it has {}",
                                  shown_text(name_), what));
  }

  std::string name_;
  const json& row_;
  std::vector<std::vector<std::string>> values_;  ///< of each parameter
  std::vector<std::string> names_;
  const json* results_ = nullptr;
  const json* samples_ = nullptr;
};

/// Reads the rows of a file one after the other.
class Reader {
 public:
  Reader(ImportedRun& run, SeriesKey common)
      : run_(run), common_(std::move(common)), benchmarks_(run.file) {}

  void read(const std::string& name, const json& row) {
    const Cases cases(name, row, benchmarks_);
    if (!cases.have_results()) {
      remarks_.add("left out: ", name, name, "failed");
      return;
    }
    const AsvQuantity quantity = benchmarks_.quantity(name);
    unnamed_ = unnamed_ || (cases.have_parameters() && !benchmarks_.are_there());
    if (quantity.unit.empty()) {
      remarks_.add(
          "left out: ", name, name,
          "has no unit by its name, and none in benchmarks.json beside the folder of the file");
      return;
    }
    SeriesKey key = common_;
    key.metric = quantity.type.empty() ? "value" : quantity.type;
    key.unit = quantity.unit;
    key.better = quantity.is_time() || quantity.is_memory() ? Better::smaller : Better::steady;
    // asv compares no results of two versions of a benchmark, which are hashes of its code.
    if (row.contains("version") && !row.at("version").is_null()) {
      key.environment["benchmark version"] = asv_text(row.at("version"));
    }
    for (std::size_t i = 0; i < cases.size(); ++i) read_case(name, quantity, key, cases, i);
  }

  void finish() {
    for (std::string& line : remarks_.lines()) run_.notes.push_back(std::move(line));
    if (unnamed_) {
      run_.notes.push_back(
          fmt::format("no benchmarks.json lies beside the folder of {}, so that parameters have no "
                      "names but param1, param2 and so on",
                      run_.file));
    }
  }

 private:
  void read_case(const std::string& name, const AsvQuantity& quantity, const SeriesKey& key,
                 const Cases& cases, std::size_t i) {
    const json& result = cases.result(i);
    if (result.is_null()) return remarks_.add("left out: ", name, cases.text(i), "failed");
    if (result == "NaN") return remarks_.add_skipped(cases.text(i));
    if (!result.is_number()) {
      return remarks_.add("left out: ", name, cases.text(i), "is no number");
    }
    const double value = result.get<double>();
    refuse_impossible(value, quantity, key, cases, i);
    if (!(value > 0)) {
      return remarks_.add("left out: ", name, cases.text(i),
                          "is not above 0, so that it has no ratio to what it was");
    }
    const auto samples = usable_samples(name, value, quantity, key, cases, i);
    Point point;
    point.summary = summarize(samples ? std::span<const double>(*samples) : std::span(&value, 1));
    if (!samples) point.extras = cases.told_statistics(i);
    SeriesKey own = key;
    own.axes = cases.axes(i);
    run_.points.push_back({std::move(own), std::move(point)});
  }

  static void refuse_impossible(double value, const AsvQuantity& quantity, const SeriesKey& key,
                                const Cases& cases, std::size_t i) {
    const bool is_impossible =
        (quantity.is_time() && !(value > 0)) || (quantity.is_memory() && !(value >= 0));
    if (!is_impossible) return;
    throw ConfigError(fmt::format("{} has a {} of {:g} {}, which no run takes",
                                  shown_text(cases.text(i)), quantity.type, value, key.unit));
  }

  /// Those that the result is the median of.
  std::optional<std::vector<double>> usable_samples(const std::string& name, double result,
                                                    const AsvQuantity& quantity,
                                                    const SeriesKey& key, const Cases& cases,
                                                    std::size_t i) {
    const json listed = cases.samples(i);
    if (listed.is_null() || listed.empty()) return std::nullopt;
    std::vector<double> samples;
    for (const json& sample : listed) {
      if (!sample.is_number()) {
        remarks_.add("", name, cases.text(i),
                     "has samples that are no numbers; its result is taken alone");
        return std::nullopt;
      }
      samples.push_back(sample.get<double>());
      refuse_impossible(samples.back(), quantity, key, cases, i);
    }
    constexpr double rounding = 1e-6;
    if (std::abs(median(samples) - result) > rounding * std::abs(result)) {
      remarks_.add("", name, cases.text(i),
                   "has samples whose median is not its result, which is taken alone");
      return std::nullopt;
    }
    return samples;
  }

  ImportedRun& run_;
  SeriesKey common_;
  AsvBenchmarks benchmarks_;
  Remarks remarks_;
  bool unnamed_ = false;
};

void add_facts(const json& document, const char* name, Facts& facts) {
  if (!document.contains(name)) return;
  const json& value = document.at(name);
  if (!value.is_object()) {
    if (const std::string text = asv_text(value); !text.empty()) facts.emplace(name, text);
    return;
  }
  // A version that is not told is any, and still another environment than without the package.
  for (const auto& [key, one] : value.items()) facts.emplace(key, asv_text(one));
}

SeriesKey common_key(const json& document) {
  SeriesKey key;
  key.suite = "asv";
  const json machine = document.value("params", json::object());
  // The name as well: asv never compares machines of two names.
  for (const char* name : {"machine", "arch", "cpu", "num_cpu", "ram"}) {
    add_facts(machine, name, key.machine);
  }
  for (const char* name : {"python", "env_name", "requirements", "env_vars"}) {
    add_facts(document, name, key.environment);
  }
  return key;
}

/// The date is that of the commit, in ms since 1970.
Origin origin_of(const json& document) {
  Origin origin;
  origin.commit = asv_text(document.at("commit_hash"));
  if (!document.contains("date") || document.at("date").is_null()) return origin;
  constexpr double most_ms = 1e14;  // year 5138
  const auto date = document.at("date").get<double>();
  if (!(date >= 0) || !(date < most_ms)) throw ConfigError("its date is no time since 1970");
  origin.time = time_text(static_cast<std::int64_t>(date / 1000));
  return origin;
}

void read_rows(const json& document, Reader& reader) {
  const bool has_columns = document.contains("result_columns");
  const int newest = 2;
  const int version = document.value("version", has_columns ? newest : 1);
  if (version < 1 || version > newest) {
    throw ConfigError(
        fmt::format("it is of version {} of asv's format, and 1 and 2 are known", version));
  }
  for (const auto& [name, value] : document.at("results").items()) {
    if (version == newest) {
      reader.read(name, row_of_columns(document.at("result_columns"), value));
      continue;
    }
    json row = row_of_version_1(value);
    const json versions = document.value("benchmark_version", json::object());
    if (versions.contains(name)) row["version"] = versions.at(name);
    reader.read(name, row);
  }
}

}  // namespace

Origin add_asv(ImportedRun& run) {
  // null is a benchmark that failed and NaN one that was skipped.
  const std::string strict = strict_json(run.content, BareNumber::quoted);
  try {
    const json document = json::parse(strict);
    const Origin origin = origin_of(document);
    Reader reader(run, common_key(document));
    read_rows(document, reader);
    reader.finish();
    add_facts(document.value("params", json::object()), "os", run.facts);
    return origin;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, strict));
  }
}

}  // namespace dlscale::report::history
