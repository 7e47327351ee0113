#include "report/prediction/prediction_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/base/error.hpp"
#include "core/results/trace_event.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/prediction_table.hpp"

namespace dlscale::report {
namespace {

std::size_t number_of(model::TraceRow row) {
  return static_cast<std::size_t>(row);
}

void add(const model::IterationTrace& trace, int process, std::vector<std::string>& lines) {
  const std::string title =
      fmt::format("predicted: {}, {}", run_title(trace.run), counted(trace.run.ranks, "rank"));
  lines.push_back(trace_name_line(process, "process_name", 0, title));
  for (const model::TraceRow row : model::all_trace_rows) {
    lines.push_back(
        trace_name_line(process, "thread_name", number_of(row), std::string(trace_row_name(row))));
  }
  for (const model::TraceSpan& span : trace.spans) {
    lines.push_back(
        trace_line({span.name, std::string(trace_row_name(span.row)), span.what, span.start,
                    span.duration, span.bytes.si(), process, number_of(span.row)}));
  }
}

}  // namespace

std::string prediction_trace(std::span<const model::IterationTrace> traces) {
  EXPECT(!traces.empty());
  std::vector<std::string> lines;
  int process = 0;
  for (const model::IterationTrace& trace : traces) add(trace, process++, lines);
  return fmt::format("{}{}{}", trace_opening, fmt::join(lines, ",\n"), trace_closing);
}

}  // namespace dlscale::report
