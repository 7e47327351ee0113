#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "regression/statistics/verdict.hpp"
#include "report/comparison/attribution.hpp"

namespace dlscale::report {

/// Whether a row decides the verdict of the whole comparison. The phases of a training run explain
/// a change of its iteration time and do not count beside it.
enum class Role { judged, detail };

/// What of a benchmark's series tells whether it got slower; the others say why. Nothing of those
/// that no speed can be told from: when ranks began, what their clocks showed, and how long the
/// fixed work beside took (--wait-quiet), which tells of the machine.
std::optional<Role> role_of(const std::string& benchmark, std::string_view series);

/// Two measurements of the same key (without `repeat`) and series. `ratio` = B / A with a 95 %
/// interval; `method` says how the interval was found (see report/comparison/ratio.hpp).
struct Comparison {
  std::string key;
  std::string benchmark;
  std::map<std::string, std::string> axes;  ///< without `repeat`
  std::string series;
  double a = 0;  ///< median, s
  double b = 0;
  double ratio = 1;
  double ratio_low = 1;
  double ratio_high = 1;
  Verdict verdict = Verdict::inconclusive;
  Role role = Role::judged;
  std::string method;
  int launches = 0;  ///< repeats on the side that has fewer
  /// Why there is no verdict, though the interval may have one.
  enum class Held { no, by_family, by_place } held = Held::no;
};

/// What both sides have, and whose times cannot be compared.
struct NotCompared {
  std::string key;
  std::string why;                          ///< "A is ok, B is wrong (differs from reference)"
  Verdict verdict = Verdict::inconclusive;  ///< or wrong
};

struct ComparisonReport {
  double margin = 0;
  std::vector<Comparison> rows;
  /// Keys, and "key: series" where B has the key without the series that its verdict is from.
  std::vector<std::string> only_a;
  std::vector<std::string> missing;  ///< those of them that A measured: they have no partner
  std::vector<std::string> only_b;
  std::vector<NotCompared> not_compared;
  std::vector<std::string> environment_differences;  ///< "cpu: X | Y"
  /// In which of the machine and the launch rows differ that are not judged for that, each once.
  std::vector<std::string> place_differences;
  std::vector<Attribution> attributions;  ///< of trainings in both, where phases were timed
  /// wrong if an answer of B is; else of the judged rows: regressed if any is, else inconclusive if
  /// any is (or if a key could not be compared), else improved if any is, else unchanged.
  Verdict verdict = Verdict::inconclusive;
};

/// Whether times of other classes of machines, or of other launches, are judged: that is no
/// question of versions, but of machines.
enum class AcrossPlaces { refused, judged };

/// Compares series of times; smaller is better. `margin` ≥ 0: a change smaller than this fraction
/// does not matter. A row is regressed if its whole interval is above 1 + margin, improved if it is
/// below 1 / (1 + margin), unchanged if it lies between the two, else inconclusive. Of the judged
/// rows, regressed and improved are only those that Benjamini and Hochberg's rule keeps among them
/// all at 5 %, so that the verdict of many is not up to chance; and of measurements at different
/// places (report/results/measured_place.hpp) all are inconclusive, unless those are to be judged.
/// Throws Error (nothing_measured) if A and B have no key in common.
ComparisonReport compare(std::span<const ResultFile> a, std::span<const ResultFile> b,
                         double margin, AcrossPlaces across = AcrossPlaces::refused);

/// Whether what A measured and B did not makes a comparison fail.
enum class MissingRows { pass, fail };
/// That of the verdict, and regression where rows are missing and that fails; an answer that is
/// wrong counts more.
ExitCode exit_code(const ComparisonReport& report, MissingRows missing);

}  // namespace dlscale::report
