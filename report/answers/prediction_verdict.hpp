#pragma once
#include <string>

#include "report/table/field_table.hpp"

namespace dlscale::report {

// Rows of predictions in JSON, in words.

/// "images" or "sequences".
std::string samples_of(const Json& row);

/// "16 ranks".
std::string ranks_of(const Json& row);

/// "81.2 ms to 124 ms", of a row or a parallel plan; empty without an interval.
std::string iteration_interval(const Json& row);

/// "3,800 to 5,880", of samples a second; empty without an interval.
std::string rate_interval(const Json& row);

/// The time of an iteration, in s.
double iteration_of(const Json& row);

/// The answer in a few sentences: the fastest row, `best`, of `rows`, the ranks that its interval
/// does not tell from it, and whether its memory may be short. Requires ≥ 1 row.
std::string prediction_verdict(const Json& rows, const Json& best);

}  // namespace dlscale::report
