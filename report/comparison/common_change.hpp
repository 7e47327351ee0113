#pragma once
#include <optional>
#include <span>
#include <string>

#include "report/comparison/compare.hpp"

namespace dlscale::report {

/// The change that the rows of a comparison have in common, and whether it explains them.
///
/// Estimate: the median ratio of the rows. Its interval goes from the median of their lower ends
/// to that of their upper ends. It does not narrow with more rows, since these share their cause:
/// if the errors of all rows move together, it is a 95 % interval, and if they are independent, it
/// is wider than necessary.
///
/// One change explains the rows if the intervals that miss it are as few as chance gives: if P(X ≥
/// misses) > 5 % for X binomial(rows, 5 %), as each interval misses the true ratio with 5 %. Wrong
/// where a version slows all rows alike: rows cannot tell this from a slower machine.
///
/// Takes rows of several launches, or those of one where no other is. Absent for fewer than four,
/// and for rows measured at different places.
std::optional<CommonChange> common_change(const ComparisonReport& report);

/// "one change of +20.9 % (95 % interval +5.5 % to +34.1 %) explains 17 of 18 measurements, as a
/// slower machine would". Requires CommonChange::explains.
std::string common_sentence(const CommonChange& common);

}  // namespace dlscale::report
