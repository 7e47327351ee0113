#pragma once
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale {

/// A span of a trace for Chrome and Perfetto: a JSON object with a list "traceEvents", one line per
/// event. [Google, Trace Event Format: "X" events, in microseconds]
struct TraceEvent {
  std::string name;
  std::string category;
  std::string what;  ///< shown as "pass"
  Seconds start;
  Seconds duration;
  double bytes = 0;     ///< size of a message; shown if > 0
  int process = 0;      ///< rows of a process are shown together
  std::size_t row = 0;  ///< spans of a row must not overlap: a viewer would nest them
  std::vector<std::pair<std::string, int>> numbers = {};  ///< further arguments, by name
};

/// Text of a trace file before the first line.
inline constexpr std::string_view trace_opening = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
/// Text after the last line, which has no comma at its end.
inline constexpr std::string_view trace_closing = "\n]}\n";

/// Line of one event, without comma and line end, to the nanosecond.
std::string trace_line(const TraceEvent& event);
/// The line that names a process ("process_name") or one of its rows ("thread_name").
std::string trace_name_line(int process, std::string_view what, std::size_t row,
                            const std::string& name);

/// Whether a file is a trace of dlscale, for refuse_foreign_file().
bool is_trace(std::istream& content);

}  // namespace dlscale
