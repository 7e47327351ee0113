#pragma once
#include <map>
#include <string>
#include <string_view>

#include "regression/statistics/direction.hpp"

namespace dlscale::report::history {

/// A direction as keys of series say it: "smaller", "larger", "steady"; parse_better() throws
/// ConfigError for any other word.
std::string_view better_name(Direction direction);
Direction parse_better(std::string_view word);

using Facts = std::map<std::string, std::string>;

/// What numbers must have in common to be points of one series. Points under different keys are
/// never compared: another key is a new baseline, not a regression.
struct SeriesKey {
  std::string suite;  ///< "e2e", "conv", "nccl-tests", "Google Benchmark"
  Facts axes;         ///< the case and its parameters
  std::string metric;
  std::string unit;  ///< "s", "B/s", "1"
  Direction direction = Direction::smaller_is_better;
  Facts machine;      ///< class: processor, cores, memory, GPUs, links; not which one of the class
  Facts environment;  ///< drivers, libraries, compiler and flags, variables that libraries read
  Facts launch;       ///< ranks, ranks of a node, what joined them, cores they are bound to
  bool operator==(const SeriesKey&) const = default;

  /// Canonical JSON on one line: keys sorted, no spaces. Equal keys have equal texts.
  [[nodiscard]] std::string text() const;
  /// The first 16 digits of the text's SHA-256.
  [[nodiscard]] std::string id() const;
  /// What a person tells series apart by: "conv batch=8 layer=conv1 pass=forward: time".
  [[nodiscard]] std::string name() const;
  /// The file of the series in a store: a readable stem, and the id: "conv-time-0123456789abcdef".
  [[nodiscard]] std::string file_stem() const;
  /// 8 digits that tell environments apart; machines and launches have theirs likewise.
  [[nodiscard]] std::string environment_id() const;
  /// Whether it explains another metric and raises no alert of its own: the phases of an iteration.
  [[nodiscard]] bool is_detail() const;
  /// The same series in any environment: text() without it. Where the environment changed, a series
  /// ends and another of the same question begins.
  [[nodiscard]] std::string question() const;
};

/// What the values of a series may be, as their sources are read (imports.hpp).
enum class Values {
  positive,  ///< how long a whole took, and what else is compared by its ratio
  from_0,    ///< rates, which a text may have rounded to 0
  any,       ///< parts of a whole, which are differences of times
};
Values values_of(const SeriesKey& key);

/// The inverse of text(). Throws ConfigError without the place: not JSON, a missing or an unknown
/// key, a value of another type.
SeriesKey parse_series_key(std::string_view text);

/// "cuDNN: 8.9.2 → 9.1.0, …": the facts that differ; empty if none does.
std::string differences(const Facts& before, const Facts& after);

}  // namespace dlscale::report::history
