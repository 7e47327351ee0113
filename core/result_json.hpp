#pragma once
#include <string>
#include <string_view>

#include "core/measurement.hpp"

namespace dlscale {

/// The lines of a result file (docs/RESULTS.md), for ResultWriter and read_results alone. Strict
/// JSON: no NaN, no infinity, valid UTF-8, no line break.

std::string header_line(const ResultHeader& header);
/// A measurement with a number that is not finite is written as wrong, with the reason. A wrong one
/// carries no series.
std::string measurement_line(const Measurement& measurement);
std::string end_line(std::size_t measurements);

/// What a line holds. The parsers throw ConfigError without the place: the reader adds it.
enum class LineKind { header, measurement, end };
LineKind kind_of_line(std::string_view line);
ResultHeader parse_header(std::string_view line);
Measurement parse_measurement(std::string_view line);
std::size_t parse_end(std::string_view line);

}  // namespace dlscale
