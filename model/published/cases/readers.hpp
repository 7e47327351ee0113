#pragma once
#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/json_fields.hpp"
#include "model/published/cases/outcome.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

// Each throws as read_cases().

/// Refuses an id that does not begin with the set and a slash.
void expect_own_set(const JsonFields& line);
/// Name, kind and bandwidth.
CaseLink read_link(const JsonFields& link);
/// Quality, weight and plain values, all but what was measured.
Outcome read_outcome(const JsonFields& line);

/// A line of the schema dlscale.case/1, and what was measured of it.
ScalingCase read_scaling_case(const JsonFields& line);
Outcome read_scaling_outcome(const JsonFields& line);

/// A line of the schema dlscale.allreduce/1, and what was measured of it.
CurveCase read_curve_case(const JsonFields& line);
Outcome read_curve_outcome(const JsonFields& line);

// Ranges beyond which a number is a slip of the pen; what is computed of numbers within them stays
// finite.
inline constexpr WholeRange workers{1, 100'000'000};
inline constexpr WholeRange scalars{1, 1'000'000'000'000'000};
inline constexpr RealRange seconds{1e-12, 1e9};
inline constexpr RealRange samples{1e-9, 1e15};
inline constexpr RealRange rates{1e-9, 1e15};
inline constexpr RealRange bandwidths{1, 1e18};
inline constexpr RealRange byte_counts{1, 1e18};
inline constexpr RealRange fractions{0, 100};

}  // namespace dlscale::cases
