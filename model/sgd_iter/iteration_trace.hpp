#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The parallel rows of an iteration of one rank.
enum class TraceRow { iterations, storage, loaders, copy_engine, host, device, communication };
inline constexpr std::array all_trace_rows{
    TraceRow::iterations, TraceRow::storage, TraceRow::loaders,      TraceRow::copy_engine,
    TraceRow::host,       TraceRow::device,  TraceRow::communication};
std::string_view trace_row_name(TraceRow row);

/// An activity of a row.
struct TraceSpan {
  TraceRow row = TraceRow::device;
  std::string name;  ///< its layer, or the layers whose gradients a message carries
  std::string what;  ///< "forward", "backward_filter", "message", …
  Seconds start;     ///< since the first iteration shown began, ≥ 0
  Seconds duration;  ///< > 0
  Bytes bytes;       ///< size of a message; 0 for other spans
};

/// Iterations of the task graph in its steady state.
struct IterationTrace {
  Run run;
  std::vector<Seconds> iterations;  ///< duration of each
  std::vector<TraceSpan> spans;     ///< no two overlap in a row; by row, then by start
};

/// Traces `iterations` ≥ 1 as simulate_iteration() sees them, after enough others that the queue of
/// batches is in its steady state (packs never quite repeat). Messages that travel as one pack are
/// one span. A stretch of computing is cut into its layers in proportion to their times. Where the
/// host launches work more slowly than the device does it, the device's part stands at the
/// beginning of the stretch, parallel to the host's. Spans are clipped to the iterations shown.
/// Throws ConfigError as predict() does.
IterationTrace trace_iterations(const Network& network, const Machine& machine, const Run& run,
                                int iterations);

}  // namespace dlscale::model
