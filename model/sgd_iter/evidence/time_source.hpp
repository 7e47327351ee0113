#pragma once
#include <optional>
#include <string_view>

namespace dlscale::model {

/// Source of the time of a step or a message, the most certain first.
enum class TimeSource {
  measured,      ///< with this kernel, batch and number of ranks on a node
  fitted,        ///< fit to messages on as many ranks
  other_ranks,   ///< measured with another number of ranks on a node
  interpolated,  ///< between two measured batches
  extrapolated,  ///< from another batch by its work; from fewer ranks or other message sizes
  unfused,       ///< layer and ReLU measured separately
  efficiency,    ///< not measured: by the efficiency of kernels of its kind
  data_sheet,
};
std::string_view time_source_name(TimeSource source);  ///< "other ranks", "data sheet", …
/// The less certain of the known sources and a further one.
std::optional<TimeSource> less_sure(std::optional<TimeSource> known, TimeSource more);

/// Sources of the phases of an iteration: for each the least certain of its parts; absent where
/// nothing is done, or its time is unknown.
struct PhaseSources {
  std::optional<TimeSource> load = {};
  std::optional<TimeSource> h2d = {};
  std::optional<TimeSource> forward = {};
  std::optional<TimeSource> backward = {};
  std::optional<TimeSource> communication = {};  ///< hidden or not
  std::optional<TimeSource> update = {};
};

}  // namespace dlscale::model
