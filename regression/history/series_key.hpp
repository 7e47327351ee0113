#pragma once
#include <map>
#include <string>
#include <string_view>

#include "regression/statistics/metric.hpp"

namespace dlscale::regression::history {

/// A direction as written in keys of series: "smaller", "larger", "steady". parse_better() throws
/// ConfigError for any other word.
std::string_view better_name(Direction direction);
Direction parse_better(std::string_view word);

using Facts = std::map<std::string, std::string>;

/// Properties that points of one series have in common. Points under different keys are never
/// compared: another key is a new baseline, not a regression.
struct SeriesKey {
  std::string suite;  ///< "e2e", "conv", "nccl-tests", "Google Benchmark"
  Facts axes;         ///< the case and its parameters
  std::string metric;
  std::string unit;  ///< "s", "B/s", "1"
  Direction direction = Direction::smaller_is_better;
  /// Class of machine: processor, cores, memory, GPUs, links; not the individual machine.
  Facts machine;
  Facts environment;  ///< drivers, libraries, compiler and flags, variables that libraries read
  Facts launch;       ///< ranks, ranks per node, what joined them, cores they are bound to
  bool operator==(const SeriesKey&) const = default;

  /// Canonical JSON on one line: keys sorted, no spaces. Equal keys have equal texts.
  [[nodiscard]] std::string text() const;
  /// The first 16 digits of the text's SHA-256.
  [[nodiscard]] std::string id() const;
  /// Readable name of the series: "conv batch=8 layer=conv1 pass=forward: time".
  [[nodiscard]] std::string name() const;
  /// Name of the series' file in a store, a readable stem and the id: "conv-time-0123456789abcdef".
  [[nodiscard]] std::string file_stem() const;
  /// 8 digits that identify the environment within the text; machines and launches have theirs
  /// likewise.
  [[nodiscard]] std::string environment_id() const;
  /// Whether the series only explains another metric and raises no alert of its own, as phases of
  /// an iteration do.
  [[nodiscard]] bool is_detail() const;
  /// text() without the environment. Where the environment changes, one series ends and another of
  /// the same question begins.
  [[nodiscard]] std::string question() const;
};

/// Permitted values of a series, as read from their sources (imports.hpp).
enum class Values {
  positive,  ///< durations of a whole, and others that are compared by ratio
  from_0,    ///< rates, which a text may have rounded to 0
  any,       ///< parts of a whole, which are differences of times
};
Values values_of(const SeriesKey& key);

/// The inverse of text(). Throws ConfigError without the place if the text is not JSON, a key is
/// missing or unknown, or a value has another type.
SeriesKey parse_series_key(std::string_view text);

/// "cuDNN: 8.9.2 → 9.1.0, …": the facts that differ; empty if all agree.
std::string differences(const Facts& before, const Facts& after);

/// SHA-256 [FIPS 180-4] as 64 hexadecimal digits, which identifies the content.
std::string sha256(std::string_view content);

}  // namespace dlscale::regression::history
