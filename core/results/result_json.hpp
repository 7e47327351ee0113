#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/results/measurement.hpp"

namespace dlscale {

/// The lines of a result file (docs/reference/results), for ResultWriter, read_results and code
/// that needs a line before it is written. Strict JSON: no NaN, no infinity, valid UTF-8, no line
/// break.

std::string header_line(const ResultHeader& header);
/// The measurement as written. If it holds a number that is not finite, its status becomes wrong,
/// with the reason, and it has no series.
Measurement refuse_not_finite(Measurement measurement);
std::string measurement_line(const Measurement& measurement);
std::string end_line(std::size_t measurements);

/// Whether text without a line break may be a truncated header line.
bool begins_header(std::string_view text);

/// Kind of a line. The parsers throw ConfigError without the place; the reader adds it.
enum class LineKind { header, measurement, end };
LineKind kind_of_line(std::string_view line);
/// read_results() of a file whose content was read.
ResultFile parse_results(const std::filesystem::path& path, std::string_view text);
ResultHeader parse_header(std::string_view line);
Measurement parse_measurement(std::string_view line);
std::size_t parse_end(std::string_view line);

}  // namespace dlscale
