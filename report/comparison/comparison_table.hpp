#pragma once
#include <cstddef>
#include <string>

#include "report/comparison/compare.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A comparison: the verdict in a sentence, the rows (changes first), what is missing on either
/// side, and how the environments differ.
Document comparison_document(const ComparisonReport& report);

/// Numbers of rows whose verdicts are withheld although their intervals may have one.
struct WithheldRows {
  long long by_family = 0;
  long long by_rounding = 0;
};

/// Why, as sentences: ". 2 rows may differ by chance among so many: measure more repeats"; empty
/// without such rows. `noun` is what the rows are called.
std::string withheld_text(const WithheldRows& rows, double margin, const std::string& noun);

/// Keys that counts of rows do not include, by their numbers: "2 not compared, 1 not measured in
/// B"; empty if there are none.
std::string left_out_text(std::size_t wrong, std::size_t not_compared, std::size_t missing);

}  // namespace dlscale::report
