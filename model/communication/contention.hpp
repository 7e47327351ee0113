#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// Computation that overlaps with messages, by its use of caches and memory: the work of bench comm
/// --overlap-with.
enum class WorkKind {
  gemm,  ///< products of matrices: fully connected layers
  conv,  ///< convolutions
  copy,  ///< memory-bound: copies, updates, all other layers; "memcpy" in files
};
inline constexpr std::array all_work_kinds{WorkKind::gemm, WorkKind::conv, WorkKind::copy};
inline constexpr std::size_t work_kinds = all_work_kinds.size();
constexpr std::size_t index_of(WorkKind kind) {
  return static_cast<std::size_t>(kind);
}
std::string_view work_kind_name(WorkKind kind);   ///< "gemm", "conv", "memcpy"
WorkKind parse_work_kind(std::string_view name);  ///< throws ConfigError

/// Upper limit of slow-downs: work at a hundredth of its speed or less, even at rest, counts as
/// this.
constexpr double most_slowdown = 100;

/// Slow-downs of work and messages of [from, to) bytes while both are in progress, whichever began
/// first. A relative rate r (1 alone) is the slow-down 1 / r ≥ 1.
struct ContentionRange {
  Bytes from;
  Bytes to;
  Estimate<double> compute;   ///< s_c: work runs at 1 / s_c of its speed during messages
  Estimate<double> messages;  ///< s_m: messages travel at 1 / s_m of theirs during work
  int points = 0;             ///< number of message sizes measured
};

/// Contention of the messages of one collective with one kind of work.
struct ContentionFit {
  std::string collective;  ///< "all_reduce"
  int ranks = 2;
  int ranks_on_node = 2;
  std::string waiting = "sleep";  ///< how ranks synchronize before each message: "spin", "sleep"
  WorkKind work = WorkKind::conv;
  int threads = 1;  ///< threads of the work
  /// Processor cores of a rank, for the work and for the thread that sends.
  int cores_per_rank = 1;
  std::vector<ContentionRange> ranges;  ///< ascending and contiguous, ≥ 1
  std::string source;

  /// The range of messages of that size; outside of all, the nearest.
  [[nodiscard]] const ContentionRange& range(Bytes size) const;
  /// Whether the sending thread shares a core with the work: then the slow-downs include that.
  [[nodiscard]] bool shares_cores() const { return threads + 1 > cores_per_rank; }
};

/// "all_reduce on 2 ranks, 2 a node, waiting by sleep, beside conv on 1 of 1 cores", for people.
std::string to_text(const ContentionFit& fit);
/// "12 sizes from 4 B to 16 MiB: work 1.31 (1.28 to 1.36) times as long, messages 1.52 (…)".
std::string to_text(const ContentionRange& range);

}  // namespace dlscale::model
