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

/// What works beside what in an iteration of one rank.
enum class TraceRow { iterations, storage, loaders, copy_engine, host, device, communication };
inline constexpr std::array all_trace_rows{
    TraceRow::iterations, TraceRow::storage, TraceRow::loaders,      TraceRow::copy_engine,
    TraceRow::host,       TraceRow::device,  TraceRow::communication};
std::string_view trace_row_name(TraceRow row);

/// Something that a row does for a time.
struct TraceSpan {
  TraceRow row = TraceRow::device;
  std::string name;  ///< of a layer, or of those whose gradients a message carries
  std::string what;  ///< "forward", "backward_filter", "message", …
  Seconds start;     ///< since the first iteration shown began, ≥ 0
  Seconds duration;  ///< > 0
  Bytes bytes;       ///< of a message; 0 of other things
};

/// Iterations of the task graph in its steady state.
struct IterationTrace {
  Run run;
  std::vector<Seconds> iterations;  ///< how long each takes
  std::vector<TraceSpan> spans;     ///< no two of a row overlap; by row, then by start
};

/// Some iterations, ≥ 1, as simulate_iteration() sees them, once so many have passed that the queue
/// of batches is in its steady state (what is packed never quite repeats itself). Messages that
/// travel as one pack are one span. A stretch of computing is cut into its layers in proportion to
/// what each takes; where a host gives the work more slowly than the device does it, the device's
/// part stands at the beginning of the stretch and the host's beside it. What began before the
/// first iteration shown, or goes on after the last, is cut off there. Throws ConfigError as
/// predict() does.
IterationTrace trace_iterations(const Network& network, const Machine& machine, const Run& run,
                                int iterations);

}  // namespace dlscale::model
