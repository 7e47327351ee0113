#include "train/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <map>
#include <string_view>

#include "core/base/error.hpp"
#include "core/results/trace_event.hpp"
#include "core/system/output_file.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

std::string_view lane_name(Span::Lane lane) {
  constexpr std::array<std::string_view, 4> names{"compute", "communication", "loader", "phases"};
  return names[static_cast<std::size_t>(lane)];
}

/// Rows of the trace viewer, one "thread" each. A viewer nests overlapping spans of a row, which is
/// wrong for loader threads. So each span goes to the first free row of its lane.
class Rows {
 public:
  /// Assigns a span to a row. Spans of a lane must come in the order of their start.
  std::size_t assign(const Span& span) {
    std::vector<double>& busy_until = lanes_[span.lane];
    const auto free =
        std::ranges::find_if(busy_until, [&](double end) { return end <= span.start.si(); });
    const auto row = static_cast<std::size_t>(free - busy_until.begin());
    if (free == busy_until.end()) busy_until.push_back(0);
    busy_until[row] = (span.start + span.duration).si();
    return static_cast<std::size_t>(span.lane) * rows_per_lane + row;
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [lane, rows] : lanes_) {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        visit(static_cast<std::size_t>(lane) * rows_per_lane + row,
              rows.size() == 1 ? std::string(lane_name(lane))
                               : fmt::format("{} {}", lane_name(lane), row));
      }
    }
  }

 private:
  static constexpr std::size_t rows_per_lane = 1000;
  std::map<Span::Lane, std::vector<double>> lanes_;
};

std::string line_of(Rank rank, std::size_t row, const Span& span) {
  return trace_line({span.name, std::string(lane_name(span.lane)), span.what, span.start,
                     span.duration, span.bytes, rank, row});
}

std::vector<Span> by_start(std::vector<Span> spans) {
  std::ranges::stable_sort(spans, {}, [](const Span& span) { return span.start; });
  return spans;
}

}  // namespace

void Timeline::add(Span::Lane lane, std::string name, std::string what, Instant start, Instant end,
                   double bytes) {
  spans_.push_back({.lane = lane,
                    .name = std::move(name),
                    .what = std::move(what),
                    .start = elapsed(origin_, start),
                    .duration = elapsed(start, end),
                    .bytes = bytes});
}

void Timeline::add(const Batch& batch) {
  for (std::size_t i = 0; i < batch.times.size(); ++i) {
    const std::string name =
        i < batch.picks.size() ? "picture " + std::to_string(batch.picks[i].picture) : "picture";
    add(Span::Lane::loader, name, "load", batch.times[i].started, batch.times[i].ended);
  }
}

void write_trace(const std::filesystem::path& path, Rank rank, const std::vector<Span>& spans) {
  refuse_shared_output(path, fmt::format("the trace {}", path.string()));
  refuse_foreign_file(path, "a trace of dlscale", is_trace);
  std::ofstream file(path);
  file << trace_opening;
  Rows rows;
  for (const Span& span : by_start(spans)) {
    file << line_of(rank, rows.assign(span), span) << ",\n";
  }
  rows.for_each([&](std::size_t row, const std::string& name) {
    file << trace_name_line(rank, "thread_name", row, name) << ",\n";
  });
  file << trace_name_line(rank, "process_name", 0, fmt::format("rank {}", rank)) << trace_closing;
  file.close();
  if (!file) {
    throw ConfigError(fmt::format(
        "the trace {} cannot be written. Name a file in a folder that exists and has room.",
        path.string()));
  }
}

}  // namespace dlscale::train
