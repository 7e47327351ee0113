#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlscale::cases {

/// What a measured or a predicted number is: samples a second of the whole job, seconds of an
/// iteration, or seconds of a collective.
enum class CaseUnit { samples_per_s, iteration_s, time_s };

/// What others measured of a case.
struct Measured {
  CaseUnit unit = CaseUnit::samples_per_s;
  std::vector<double> values = {};       ///< > 0: one, or of a curve one for each size asked
  std::vector<double> noise = {};        ///< ≥ 0, relative; as many as values, or none: not told
  std::optional<double> deviation = {};  ///< ≥ 0: standard deviation of values[0], in its unit
};

/// What is known of the answer to a case. It stands beside the case and is no part of it: no
/// predictor may see anything of this, only what scores predictions.
struct Outcome {
  std::optional<Measured> measured = {};  ///< none: the case can be predicted, not scored
  std::string quality = {};  ///< "A" the number and all of the configuration are printed, "B" some
                             ///< is from elsewhere or coarse, "C" doubtful; empty: not told
  std::optional<double> weight = {};  ///< > 0: 1 / cases of this set in the file
  /// All plain values of the line by their dotted names, to group by: "run.overlap" to "bucketed",
  /// numbers and null as Python writes them ("8", "0.5", "None").
  std::map<std::string, std::string> fields = {};
};

}  // namespace dlscale::cases
