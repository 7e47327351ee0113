#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/units.hpp"

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

/// Kinds of notes on a prediction. report/prediction/note_text.cpp has the sentence of each, which
/// tells what its values and examples mean.
enum class NoteKind {
  remark,  ///< a sentence of the caller
  // Data sheets
  data_sheets,
  computing_interval,
  other_evidence,
  sheet_kernels,
  beyond_fitted,
  software_unknown,
  software_in_part,
  scaling_outside,
  network_kind_unknown,
  device_links_unknown,
  // Kernels
  no_peak,
  fused_not_measured,
  host_time_not_measured,
  kernels_beside_other_ranks,
  kernels_interpolated,
  kernels_extrapolated,
  kernels_by_efficiency,
  affine_not_measured,
  outside_measured_sizes,
  kernel_launches,
  graph_launch,
  graph_replay_free,
  graph_launch_unknown,
  // Memory, hosts and input
  memory_short,
  memory_too_small,
  cores_shared,
  decoding_stated,
  decoding_unknown,
  loading_beside_other_ranks,
  augmenting_scaled,
  device_normalization,
  // Computing and messages beside each other
  contention_other_waiting,
  contention_factors,
  contention_factors_below,
  contention_factors_from,
  contention_of_calls_unknown,
  contention_not_measured,
  contention_measured_elsewhere,
  stragglers,
  // Messages
  all_reduce_override_measured,
  all_reduce_override,
  all_reduce_other_waiting,
  all_reduce_left_out,
  all_reduce_outside_sizes,
  all_reduce_measured,
  all_reduce_closed_form,
  all_reduce_no_growth,
  all_reduce_guess,
  all_reduce_by_pair,
  all_reduce_extrapolated,
  messages_by_sheets,
  all_reduce_nominal,
  all_reduce_nominal_fastest,
  collective_other_waiting,
  collective_left_out,
  collective_outside_sizes,
  collective_half,
  collective_fastest,
  nccl_cost_model,
  links_described,
  no_link_between_nodes,
  more_nodes,
  measured_points,
  barrier_by_all_reduce,
  barrier_by_pair,
  barrier_unknown,
  // Schedules
  merged_optimally,
  merged_greedily,
  priority_parts,
  horovod_cycle,
  sharding,
  servers_host_copies,
  servers_none,
  servers_by_ranks,
  servers_by_nodes,
  servers_packing,
  servers_by_sheets,
  servers_running,
  // Pipelines
  memory_cuts_stages,
  // Timed layers and messages
  timed_line,
  timed_line_missed,
  timed_line_extended,
  timed_groups,
  timed_message_interval,
  timed_no_interval,
  timed_rest_interval,
  timed_unknown,
};

/// A number or a name in a note.
struct NoteValue {
  std::variant<std::int64_t, double, std::string, Seconds, Bytes, BytesPerSecond> value;

  template <std::integral Whole>
  NoteValue(Whole whole) : value(static_cast<std::int64_t>(whole)) {}
  NoteValue(double number) : value(number) {}
  NoteValue(const char* name) : value(std::string(name)) {}
  NoteValue(std::string_view name) : value(std::string(name)) {}
  NoteValue(std::string name) : value(std::move(name)) {}
  NoteValue(Seconds time) : value(time) {}
  NoteValue(Bytes size) : value(size) {}
  NoteValue(BytesPerSecond rate) : value(rate) {}
  bool operator==(const NoteValue&) const = default;
};
using NoteValues = std::vector<NoteValue>;

/// An interpolation, extrapolation or assumption of a prediction, with its distinct examples in
/// order, for example names of kernels.
struct Note {
  NoteKind kind = NoteKind::remark;
  NoteValues values = {};
  std::vector<NoteValues> examples = {};
  bool operator==(const Note&) const = default;
};

/// A note with a sentence of the caller's.
inline Note remark(std::string sentence) {
  return {NoteKind::remark, {std::move(sentence)}};
}

/// Notes of predictions. Notes that differ in their examples only are one. Facts that change with
/// the number of ranks belong in the examples, so that several predictions share a note.
class Notes {
 public:
  void add(NoteKind kind, NoteValues values = {}) { add(Note{kind, std::move(values), {}}); }
  void add(NoteKind kind, NoteValues values, NoteValues example) {
    add(Note{kind, std::move(values), {std::move(example)}});
  }
  /// Returns its index in all().
  std::size_t add(const Note& note);
  [[nodiscard]] const std::vector<Note>& all() const { return notes_; }

 private:
  std::vector<Note> notes_;  // in the order of their first addition
};

}  // namespace dlscale::model
