#pragma once
#include "report/comparison/compare.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A comparison: the verdict in a sentence, the rows (changes first), what is missing on either
/// side, and how the environments differ.
Document comparison_document(const ComparisonReport& report);

}  // namespace dlscale::report
