#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"

namespace dlscale::report {

enum class Verdict { improved, unchanged, regressed, inconclusive };
std::string_view verdict_name(Verdict verdict);

/// Two measurements of the same key and series. `ratio` = B / A of the medians with a 95 %
/// interval.
struct Comparison {
  std::string key;
  std::string series;
  double a = 0;
  double b = 0;
  double ratio = 1;
  double ratio_low = 1;
  double ratio_high = 1;
  Verdict verdict = Verdict::inconclusive;
};

struct ComparisonReport {
  std::vector<Comparison> rows;
  std::vector<std::string> only_a;  ///< keys
  std::vector<std::string> only_b;
  std::vector<std::string> environment_differences;  ///< "cpu: X | Y"
  Verdict verdict =
      Verdict::inconclusive;  ///< regressed if any row is, else inconclusive if any is, …
};

/// `margin`: a change smaller than this fraction does not matter.
ComparisonReport compare(std::span<const ResultFile> a, std::span<const ResultFile> b,
                         double margin);

}  // namespace dlscale::report
