#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/convolution/method.hpp"
#include "core/results/measurement.hpp"
#include "report/results/axes.hpp"

namespace dlscale::report {

/// Rows of results, which must outlive it.
using Rows = std::vector<const Measurement*>;

/// The passes of a convolution in their order.
inline constexpr std::array convolution_passes{Pass::forward, Pass::backward_data,
                                               Pass::backward_filter};

/// The median. Requires is_timed(measurement).
Seconds time_of(const Measurement& measurement);

/// "native winograd_f4".
std::string algorithm_of(const Measurement& measurement);
/// What algorithm_of() says of our convolution on processors by that method.
std::string our_algorithm(lowering::Method method);

/// The network, or the list that a convolution stands in: core/network/listed_network.hpp.
std::string set_of(const Measurement& measurement);

/// Filters transformed once and kept serve inference; training changes them every iteration, so
/// that such times do not compete with what it can use.
bool keeps_filters(const Measurement& measurement);

/// What algorithms are compared under: all axes but those that tell rows of a table apart.
Axes condition_of(const Measurement& measurement);
/// "vgg16, batch 4, f32, 1 thread, cold caches", and what is unusual.
std::string condition_text(Axes condition);

/// A layer in one pass, in the order of a network's passes.
struct Case {
  std::string layer;
  std::string kernel;
  std::size_t pass = 0;  ///< index into `convolution_passes`; beyond them: another
  auto operator<=>(const Case&) const = default;
  /// "backward_data"; empty beyond the passes.
  [[nodiscard]] std::string pass_text() const;
  /// The key without its first word: "c64 h224 …".
  [[nodiscard]] std::string shape_text() const;
};
Case case_of(const Measurement& measurement);

/// All rows of convolutions that name an algorithm: names_algorithm().
Rows algorithm_rows(std::span<const ResultFile> results);

/// Cases by what they were measured under.
using Conditions = std::map<Axes, std::map<Case, Rows>>;
Conditions by_condition(std::span<const ResultFile> results);

/// What was found by each algorithm; of repeated measurements the one in the middle.
using ByAlgorithm = std::map<std::string, const Measurement*>;
ByAlgorithm by_algorithm(const Rows& rows);

/// The row of that algorithm if it has a time; else null.
const Measurement* timed_by(const ByAlgorithm& all, const std::string& algorithm);

/// Under tables that give speeds and shares of rooflines.
inline constexpr std::string_view speed_note =
    "effective counts the operations of a direct convolution; of roofline: the least time that the "
    "measured ceilings allow the algorithm, over the time measured";
/// Under tables with tie_text().
inline constexpr std::string_view tie_note =
    "tie: the 95 % interval of another overlaps that of the fastest; not known: one of them has no "
    "interval, for which it takes 6 samples";
/// Under tables with times that keeps_filters().
inline constexpr std::string_view kept_filters_note =
    "kept_filters: by filters transformed before, as inference can and training cannot; not among "
    "the fastest";

/// Those with a time that training can reach, the fastest first.
Rows ranking(const ByAlgorithm& all);

/// Whether all measurements of an algorithm among the rows of a case have a 95 % interval: the
/// times of has_interval().
bool has_intervals(const Rows& rows, const Measurement& by);

/// Whether the 95 % intervals of what two algorithms took overlap, so that neither is known to be
/// the faster; of repeated measurements from the least to the greatest. What has none may be
/// anywhere. `rows`: all of the case, with times by both.
bool tie(const Rows& rows, const Measurement& one, const Measurement& other);

/// Those of ranking() that may be the fastest: the first, and all that tie() with it.
Rows leaders(const Rows& rows);
/// " (tie)" if there are several of them, " (not known)" if one of those has no interval, else
/// nothing.
std::string tie_text(const Rows& rows);

/// Whether some algorithm with filters that were kept has a time.
bool ran_with_kept_filters(const ByAlgorithm& all);
/// What stands where ranking() is empty: "none ran", or "only with kept filters".
std::string none_ran(bool with_kept_filters);

/// A case under its condition.
struct Found {
  Axes condition;
  Case what;
  Rows rows;
  ByAlgorithm by;    ///< by_algorithm(rows)
  Rows chosen = {};  ///< of the same case, by what the backend chooses, which names no algorithm
  /// "vgg16 conv1_2".
  [[nodiscard]] std::string layer() const { return condition.at("network") + " " + what.layer; }
};
std::vector<Found> found_cases(std::span<const ResultFile> results);

}  // namespace dlscale::report
