#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlscale::cases {

/// The meaning of a measured or predicted number: samples a second of the whole job, seconds of an
/// iteration, or seconds of a collective.
enum class CaseUnit { samples_per_s, iteration_s, time_s };

/// Published measurements of a case.
struct Measured {
  CaseUnit unit = CaseUnit::samples_per_s;
  std::vector<double> values = {};       ///< > 0: one, or one for each size of a curve
  std::vector<double> noise = {};        ///< ≥ 0, relative: as many as values; empty: not stated
  std::optional<double> deviation = {};  ///< ≥ 0: standard deviation of values[0], in its unit
};

/// The answer to a case, stored beside it. Predictors never see it; only the scoring of predictions
/// does.
struct Outcome {
  std::optional<Measured> measured = {};  ///< empty: the case can be predicted but not scored
  /// "A": number and configuration are printed in full; "B": some of it is from elsewhere or
  /// coarse; "C": doubtful; empty: not stated.
  std::string quality = {};
  std::optional<double> weight = {};  ///< > 0: 1 / number of the set's cases in the file
  /// All plain values of the line by their dotted names, for grouping: "run.overlap" to "bucketed".
  /// Numbers and null are written as in Python ("8", "0.5", "None").
  std::map<std::string, std::string> fields = {};
};

}  // namespace dlscale::cases
