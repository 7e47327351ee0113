#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/results/row_keys.hpp"
#include "regression/statistics/metric.hpp"
#include "report/comparison/attribution.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Two measurements of the same key (without `repeat`) and series. `ratio` = B / A with a 95 %
/// interval; `method` says how the interval was found (see report/comparison/ratio.hpp).
struct Comparison {
  std::string key;
  std::string benchmark;
  std::map<std::string, std::string> axes;  ///< without `repeat`
  std::string series;
  double a = 0;  ///< median, s; the level less half the change where medians deny the ratio
  double b = 0;  ///< likewise, plus half the change
  double ratio = 1;
  double ratio_low = 1;
  double ratio_high = 1;
  regression::Verdict verdict = regression::Verdict::inconclusive;
  SeriesRole role = SeriesRole::judged;
  std::string method;
  bool has_interval = true;  ///< false: too few samples, and the ends are only what rounding allows
  int launches = 0;          ///< repeats on the side with fewer
  /// Why the verdict is withheld, although the interval may support one; by_rounding: although it
  /// would if the times had more digits.
  enum class Held { no, by_family, by_place, by_rounding } held = Held::no;
};

/// A key that both sides have, but whose times cannot be compared.
struct NotCompared {
  std::string key;
  std::string why;  ///< "A is ok, B is wrong (differs from reference)"
  regression::Verdict verdict = regression::Verdict::inconclusive;  ///< or wrong
};

/// The change that rows have in common (report/comparison/common_change.hpp), as B / A.
struct CommonChange {
  double ratio = 1;
  double low = 1;  ///< 95 % interval, as wide as that of a typical row
  double high = 1;
  std::size_t rows = 0;       ///< rows that it is of, ≥ 4
  std::size_t explained = 0;  ///< rows among them whose interval includes it
  bool explains = false;      ///< it exceeds the margin, and explains all but what chance takes
};

struct ComparisonReport {
  std::string a = "A";  ///< names of the two sides for people
  std::string b = "B";
  std::string path_a;  ///< as typed; empty if not known
  std::string path_b;
  double margin = 0;
  std::vector<Comparison> rows;
  /// Keys, and "key: series" where B has the key but lacks the judged series.
  std::vector<std::string> only_a;
  std::vector<std::string> missing;  ///< entries of `only_a` that A measured and B did not
  std::vector<std::string> only_b;
  std::vector<NotCompared> not_compared;
  std::vector<std::string> environment_differences;  ///< "cpu: X | Y"
  /// Differences of machine and launch that keep rows from being judged, each once.
  std::vector<std::string> place_differences;
  /// Facts that may change times, of compilers, libraries and variables, that both sides know and
  /// that differ: "oneDNN_cpu_isa: avx512_core_bf16 | avx2".
  std::vector<std::string> changed_environment;
  std::vector<Attribution> attributions;  ///< for trainings in both, if phases were timed
  std::optional<CommonChange> common = {};
  /// wrong if an answer of B is wrong. Else, over the judged rows: regressed if any is;
  /// inconclusive if any is, or if a key could not be compared. Else improved if any is; else
  /// unchanged.
  regression::Verdict verdict = regression::Verdict::inconclusive;
};

/// Half a unit of the last digit of printed times, in s, by key without `repeat`; others have all
/// digits.
using Roundings = std::map<std::string, double>;

/// Whether times from other classes of machines, or from other launches, are judged. Such
/// differences compare machines, not versions.
enum class AcrossPlaces { refused, judged };

/// Compares series of times; smaller is better. `margin` ≥ 0: a change smaller than this fraction
/// does not matter. A row is regressed if its whole interval is above 1 + margin, and improved if
/// it is below 1 / (1 + margin). It is unchanged if the interval lies in between, else
/// inconclusive. Among many rows chance must not decide: a judged row stays regressed or improved
/// only if Benjamini-Hochberg over all judged rows at 5 % keeps it. Rows measured at different
/// places are inconclusive unless `across` judges them. Throws
/// Error (nothing_measured) if A and B have no key in common.
ComparisonReport compare(std::span<const ResultFile> a, std::span<const ResultFile> b,
                         double margin, AcrossPlaces across = AcrossPlaces::refused,
                         const Roundings& roundings_a = {}, const Roundings& roundings_b = {});

/// Whether rows that A measured and B did not make a comparison fail.
enum class MissingRows { pass, fail };
/// Exit code of the verdict, or regression if rows are missing and `missing` is fail. A wrong
/// answer takes precedence. nothing_measured if no row has times on both sides.
ExitCode exit_code(const ComparisonReport& report, MissingRows missing);

}  // namespace dlscale::report
