#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale {

/// A message of a training iteration, as each rank saw it on its own clock.
struct ProfiledMessage {
  std::string collective;  ///< "all_reduce"
  std::int64_t bytes = 0;  ///< ≥ 1, counted as core/results/bandwidths.hpp does
  /// By rank, ≥ 0: time from the iteration's start there until the message was posted.
  std::vector<Seconds> posted = {};
  /// By rank, ≥ 0: time from then until it began. It waited behind other messages, for the device
  /// to complete it, or for the last rank.
  std::vector<Seconds> wait = {};
  std::vector<Seconds> time = {};  ///< by rank, ≥ 0: from then until the rank had its result
  /// The rank, ≥ 0, that receives the reduced data or sends the broadcast data. Nothing for
  /// collectives that treat all ranks alike, and if unknown.
  std::optional<Rank> root = {};
  /// Messages of the iteration that had begun before this one and were not done yet. It is the
  /// maximum over ranks, since each rank sees by itself what is done. It is at most the number of
  /// messages that began earlier.
  std::size_t under_way = 0;
  /// Number of layers whose gradients or parameters it carries; above 1 it is fused. A part counts
  /// the layer to which it belongs. 0: unknown.
  std::size_t layers = 0;

  /// Time from the iteration's start on that rank until it had its result.
  [[nodiscard]] Seconds end(std::size_t rank) const {
    return posted[rank] + wait[rank] + time[rank];
  }
};

/// Messages between the ranks of a training run.
struct CommunicationProfile {
  std::map<std::string, std::string> axes = {};  ///< axes of the run's row of "e2e"
  std::string library = {};                      ///< the communication library, by its own name
  std::string interruption = {};                 ///< why the run ended early; empty if it did not
  /// Warnings about the file from which it was read; empty if none.
  std::string doubt = {};
  /// Whether roots and messages under way are known: files of earlier versions do not have them.
  bool tells_order = true;
  /// By measured iteration, in starting order: all of its messages, at least one, each with the
  /// same number of ranks.
  std::vector<std::vector<ProfiledMessage>> iterations = {};

  [[nodiscard]] std::size_t ranks() const { return iterations.front().front().time.size(); }
};

/// Name of the benchmark in files and rows that hold profiles.
inline constexpr std::string_view profile_benchmark = "profile";

/// A row for each position in the iteration and each message that had it (docs/reference/results,
/// Communication of training). Each row has a sample for each iteration with that message there.
/// Requires at least one iteration.
std::vector<Measurement> profile_rows(const CommunicationProfile& profile);

/// The profiles in a file, one for each run, ordered by axes. Throws ConfigError, which names the
/// file, if it holds other rows or data that training cannot produce. Examples are missing or
/// duplicate messages or samples, invalid sizes, and times that are negative or beyond an hour.
std::vector<CommunicationProfile> read_profiles(const ResultFile& file);

/// Messages of one collective with 2^exponent bytes or more, but less than twice that.
struct SizeBucket {
  std::string collective;
  int exponent = 0;
  std::size_t calls = 0;          ///< in all iterations
  std::size_t powers_of_two = 0;  ///< calls with exactly 2^exponent bytes
  std::size_t fused = 0;          ///< calls that carry several layers
  std::size_t untold = 0;         ///< calls with an unknown number of layers
  Bytes bytes = {};               ///< of all calls
  Seconds time = {};              ///< of all calls, each with the time of its slowest rank
  Seconds power_time = {};        ///< of the calls with exactly 2^exponent bytes
  Seconds fused_time = {};        ///< of the calls that carry several layers
  Summary call = {};              ///< time of one call (s)
  double share = 0;  ///< fraction of the time of all messages of the profile; 0 if that is 0
};

/// Ordered by collective, then by size.
std::vector<SizeBucket> size_buckets(const CommunicationProfile& profile);

/// The k for which 2^k ≤ bytes < 2^(k+1). Requires bytes ≥ 1.
int size_exponent(std::int64_t bytes);
/// Requires bytes ≥ 1.
bool is_power_of_two(std::int64_t bytes);

/// Time of the message on its slowest rank.
Seconds slowest(const ProfiledMessage& message);

}  // namespace dlscale
