#pragma once
#include <optional>
#include <string_view>

namespace dlscale::model {

/// Where the time of a step or a message comes from, the surest first.
enum class TimeSource {
  measured,      ///< this kernel, batch and number of ranks on a node
  fitted,        ///< a fit to messages measured on as many ranks
  other_ranks,   ///< measured beside another number of ranks on a node
  interpolated,  ///< between two measured batches
  extrapolated,  ///< from another batch by its work; from fewer ranks or other sizes of messages
  unfused,       ///< of the layer and of its ReLU, measured by themselves
  efficiency,    ///< never measured: the efficiency that kernels of its kind reach
  data_sheet,
};
std::string_view time_source_name(TimeSource source);  ///< "other ranks", "data sheet", …
/// The less sure of what is known of some parts and one more of them.
std::optional<TimeSource> less_sure(std::optional<TimeSource> known, TimeSource more);

/// Where the times of the phases of an iteration come from: of each the least sure of its parts;
/// absent where nothing is done, or nothing is known of what it takes.
struct PhaseSources {
  std::optional<TimeSource> load = {};
  std::optional<TimeSource> h2d = {};
  std::optional<TimeSource> forward = {};
  std::optional<TimeSource> backward = {};
  std::optional<TimeSource> communication = {};  ///< hidden or not
  std::optional<TimeSource> update = {};
};

}  // namespace dlscale::model
