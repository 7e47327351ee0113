#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// What is computed while messages travel, told apart by what it asks of caches and memory: the
/// work of bench comm --beside.
enum class WorkKind {
  gemm,  ///< products of matrices: fully connected layers
  conv,  ///< convolutions
  copy,  ///< what goes by memory: copies, updates, all other layers; "memcpy" in files
};
inline constexpr std::array all_work_kinds{WorkKind::gemm, WorkKind::conv, WorkKind::copy};
inline constexpr std::size_t work_kinds = all_work_kinds.size();
constexpr std::size_t index_of(WorkKind kind) {
  return static_cast<std::size_t>(kind);
}
std::string_view work_kind_name(WorkKind kind);   ///< "gemm", "conv", "memcpy"
WorkKind parse_work_kind(std::string_view name);  ///< throws ConfigError

/// The greatest slow-down that is told from work which stands still: where a hundredth or less of
/// its speed is left, it counts as so much.
constexpr double most_slowdown = 100;

/// What work and messages of [from, to) bytes cost each other while both go on, whoever began: of a
/// rate r, 1 alone, the slow-down 1 / r ≥ 1.
struct ContentionRange {
  Bytes from;
  Bytes to;
  Estimate<double> compute;   ///< s_c: the work goes at 1 / s_c while messages travel
  Estimate<double> messages;  ///< s_m: messages travel at 1 / s_m while work goes on
  int points = 0;             ///< sizes of messages it was told from
};

/// Contention of the messages of one collective with one kind of work.
struct ContentionFit {
  std::string collective;  ///< "all_reduce"
  int ranks = 2;
  int ranks_on_node = 2;
  std::string waiting = "sleep";  ///< how ranks met before each message: "spin", "sleep"
  WorkKind work = WorkKind::conv;
  int threads = 1;  ///< of the work
  /// Processor cores of a rank, for the work and for the thread that sends.
  int cores_per_rank = 1;
  std::vector<ContentionRange> ranges;  ///< ascending and contiguous, ≥ 1
  std::string source;

  /// Of messages of that size; outside of all, the nearest.
  [[nodiscard]] const ContentionRange& range(Bytes size) const;
  /// Whether the thread that sends had no core to itself: then the slow-downs hold what sharing one
  /// costs.
  [[nodiscard]] bool shares_cores() const { return threads + 1 > cores_per_rank; }
};

/// "all_reduce on 2 ranks, 2 a node, meeting by sleep, beside conv on 1 of 1 cores", for people.
std::string to_text(const ContentionFit& fit);
/// "12 sizes from 4 B to 16 MiB: work 1.31 (1.28 to 1.36) times as long, messages 1.52 (…)".
std::string to_text(const ContentionRange& range);

}  // namespace dlscale::model
