#pragma once
#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/json_fields.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

// Each function throws as read_cases() does.

/// Throws unless the id begins with the set and a slash.
void expect_own_set(const JsonFields& line);
/// Reads name, kind and bandwidth.
CaseLink read_link(const JsonFields& link);
/// Reads quality, weight and plain values: everything except the measurements.
Outcome read_outcome(const JsonFields& line);

/// Read a line of the schema dlscale.case/1, and its measurements.
ScalingCase read_scaling_case(const JsonFields& line);
Outcome read_scaling_outcome(const JsonFields& line);

/// Read a line of the schema dlscale.allreduce/1, and its measurements.
CurveCase read_curve_case(const JsonFields& line);
Outcome read_curve_outcome(const JsonFields& line);

// Ranges of numbers. A number beyond is taken for a mistake; results of numbers within stay finite.
inline constexpr WholeRange workers{1, 100'000'000};
inline constexpr WholeRange scalars{1, 1'000'000'000'000'000};
inline constexpr RealRange seconds{1e-12, 1e9};
inline constexpr RealRange samples{1e-9, 1e15};
inline constexpr RealRange rates{1e-9, 1e15};
inline constexpr RealRange bandwidths{1, 1e18};
inline constexpr RealRange byte_counts{1, 1e18};
inline constexpr RealRange fractions{0, 100};

}  // namespace dlscale::cases
