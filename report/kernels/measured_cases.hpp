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

/// Rows of results; the results must outlive them.
using Rows = std::vector<const Measurement*>;

/// The passes of a convolution in their order.
inline constexpr std::array convolution_passes{Pass::forward, Pass::backward_data,
                                               Pass::backward_filter};

/// The median time. Requires is_timed(measurement).
Seconds time_of(const Measurement& measurement);

/// "native winograd_f4".
std::string algorithm_of(const Measurement& measurement);

/// The network or list of a convolution: core/network/network.hpp.
std::string set_of(const Measurement& measurement);

/// Whether the filters were transformed once and kept. This serves inference only: training changes
/// filters every iteration, so such times do not compete.
bool keeps_filters(const Measurement& measurement);

/// The condition under which algorithms are compared: all axes except those that distinguish rows
/// of a table.
Axes condition_of(const Measurement& measurement);
/// "vgg16, batch 4, f32, 1 thread, cold caches", and unusual settings.
std::string condition_text(Axes condition);

/// A layer in one pass, in the order of a network's passes.
struct Case {
  std::string layer;
  std::string kernel;
  std::size_t pass = 0;  ///< index into `convolution_passes`; their number for any other pass
  auto operator<=>(const Case&) const = default;
  /// "backward_data"; empty beyond the passes.
  [[nodiscard]] std::string pass_text() const;
  /// The key without its first word: "c64 h224 …".
  [[nodiscard]] std::string shape_text() const;
};
Case case_of(const Measurement& measurement);

/// All rows of convolutions that name an algorithm: names_algorithm().
Rows algorithm_rows(std::span<const ResultFile> results);

/// Cases by their condition.
using Conditions = std::map<Axes, std::map<Case, Rows>>;
Conditions by_condition(std::span<const ResultFile> results);

/// The row of each algorithm; for repeated measurements the one with the median time.
using ByAlgorithm = std::map<std::string, const Measurement*>;
ByAlgorithm by_algorithm(const Rows& rows);

/// Note under tables with speeds and shares of rooflines.
inline constexpr std::string_view speed_note =
    "effective counts the operations of a direct convolution; of roofline: the least time that the "
    "measured ceilings allow the algorithm, over the time measured";
/// Note under tables with tie_text().
inline constexpr std::string_view tie_note =
    "tie: the 95 % interval of another overlaps that of the fastest; not known: one of them has no "
    "interval, for which it takes 6 samples";
/// Note under tables with times for which keeps_filters() is true.
inline constexpr std::string_view kept_filters_note =
    "kept_filters: by filters transformed before, as inference can and training cannot; not among "
    "the fastest";

/// Rows with a time that training can reach, fastest first.
Rows ranking(const ByAlgorithm& all);

/// Whether the 95 % intervals of two algorithms overlap, so that the faster one is unknown.
/// Repeated measurements span from the least to the greatest end; a missing interval may be
/// anywhere. `rows`: all rows of the case, with times by both.
///
/// Overlap is stricter than the interval of the ratio (report/comparison/ratio.hpp), by which
/// results stand side by side. Results of kernels are mostly of one launch, whose ratio has too
/// narrow an interval, and the fastest is chosen among up to a dozen algorithms, where chance finds
/// some pair apart.
bool tie(const Rows& rows, const Measurement& one, const Measurement& other);

/// Rows of ranking() that may be the fastest: the first, and all that tie() with it.
Rows leaders(const Rows& rows);
/// " (tie)" for several leaders, " (not known)" if one of them lacks an interval, else "".
std::string tie_text(const Rows& rows);

/// Whether any algorithm with kept filters has a time.
bool ran_with_kept_filters(const ByAlgorithm& all);
/// Text in place of an empty ranking(): "none ran", or "only with kept filters".
std::string none_ran(bool with_kept_filters);

/// A case with its condition.
struct Found {
  Axes condition;
  Case what;
  Rows rows;
  ByAlgorithm by;  ///< by_algorithm(rows)
};
std::vector<Found> found_cases(std::span<const ResultFile> results);

}  // namespace dlscale::report
