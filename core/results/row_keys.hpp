#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/results/measurement.hpp"

/// Rules that decide which rows of result files are of the same case, and which of their series are
/// compared.
namespace dlscale {

/// Whether a row decides the verdict of the whole comparison. Phases of a training run are details:
/// they explain a change of its iteration time and do not count by themselves.
enum class SeriesRole { judged, detail };

/// Role of a benchmark's series: it decides whether the benchmark got slower, or explains it.
/// Absent for series that do not measure speed: start times of ranks, clock readings, and the time
/// of the fixed work for --wait-quiet, which describes the machine.
std::optional<SeriesRole> role_of(const std::string& benchmark, std::string_view series);

/// The key of a measurement without the named axes. Axes missing from older files get the only
/// value that existed then.
std::string key_without(const Measurement& measurement, std::span<const std::string_view> axes);
/// The axis by which the launches of one measurement differ.
inline constexpr std::array<std::string_view, 1> repeat_axis{"repeat"};

/// Adds axes of training that older files lack: the defaults then, on every device.
void add_older_axes(std::map<std::string, std::string>& axes);

}  // namespace dlscale
