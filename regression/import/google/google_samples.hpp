#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "regression/import/google/google_file.hpp"

namespace dlscale::regression::history {

/// The values of one benchmark that count, in the unit of their metric: those of its repetitions,
/// or else its medians (--benchmark_report_aggregates_only). All are possible.
struct GoogleSamples {
  std::string name;
  const GoogleMetric* metric = nullptr;  ///< one of google_metrics
  std::vector<double> values;            ///< at least one
  double rounding = 0;                   ///< the largest, as in Point
  bool are_medians = false;
};

/// Something of a benchmark that does not count.
struct GoogleOmission {
  enum class Why {
    failed,      ///< a row failed, so that no time of the benchmark counts; `message` is its
    skipped,     ///< likewise a row that was skipped, which leaves other rows alone
    unclear,     ///< a row is ambiguous; `message` says how
    no_median,   ///< it has other aggregates alone
    no_value,    ///< rows without the metric, which is a time
    impossible,  ///< a value that nothing measured can be, as `message` says
  };
  std::string name;
  Why why = Why::unclear;
  std::string message;
  const GoogleMetric* metric = nullptr;  ///< for the last two
};

struct GoogleCounted {
  std::vector<GoogleSamples> samples;  ///< in the order of the file
  std::vector<GoogleOmission> left_out;
};

/// Takes the decision for histories, gates and comparisons alike: which rows of a file count as
/// samples of these metrics.
GoogleCounted counted_samples(const GoogleFile& file, std::span<const GoogleMetric> metrics);

/// "BM_x: failed (no AVX)", for the notes of gates and comparisons.
std::string omission_text(const GoogleOmission& omission);

}  // namespace dlscale::regression::history
