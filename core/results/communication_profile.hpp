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

/// A message of an iteration of training, as each rank saw it on its own clock.
struct ProfiledMessage {
  std::string collective;  ///< "all_reduce"
  std::int64_t bytes = 0;  ///< ≥ 1, counted as core/results/bandwidths.hpp does
  /// By rank, ≥ 0: when it was handed over to be sent, since the iteration began there.
  std::vector<Seconds> posted = {};
  /// By rank, ≥ 0: from there until it began. It waited behind other messages, for the device to
  /// complete it, or for the last rank.
  std::vector<Seconds> wait = {};
  std::vector<Seconds> time = {};  ///< by rank, ≥ 0: from there until the rank had its result
  /// The rank, ≥ 0, that has what was reduced or that had what was broadcast; none of collectives
  /// that treat all ranks alike, and where it is not told.
  std::optional<Rank> root = {};
  /// Messages of the iteration that had begun before this one and were not done yet: the most on
  /// any rank, since each sees by itself what is done. At most as many as began before it.
  std::size_t under_way = 0;
  /// Layers whose gradients or parameters it carries, of a part that of which it is one: above 1 it
  /// is fused. 0: not told.
  std::size_t layers = 0;

  /// When a rank had its result, since the iteration began there.
  [[nodiscard]] Seconds end(std::size_t rank) const {
    return posted[rank] + wait[rank] + time[rank];
  }
};

/// What the ranks of a training run sent each other.
struct CommunicationProfile {
  std::map<std::string, std::string> axes = {};  ///< of the run, those of its row of "e2e"
  std::string library = {};                      ///< what carried the messages, in its own words
  std::string interruption = {};                 ///< why the run ended early; empty if it did not
  /// What is doubtful about the file it was read from, in words; empty if nothing is.
  std::string doubt = {};
  /// Whether roots and messages under way are told: files of earlier versions do not have them.
  bool tells_order = true;
  /// By iteration that was measured, in the order in which they began: all of its messages, at
  /// least one, each with equally many ranks.
  std::vector<std::vector<ProfiledMessage>> iterations = {};

  [[nodiscard]] std::size_t ranks() const { return iterations.front().front().time.size(); }
};

/// The benchmark of files and rows that hold profiles.
inline constexpr std::string_view profile_benchmark = "profile";

/// A row for each place in the iteration and each message that had it (docs/RESULTS.md,
/// Communication of training), with a sample for each iteration in which it did. Requires at least
/// one iteration.
std::vector<Measurement> profile_rows(const CommunicationProfile& profile);

/// The profiles in a file, one for each run in the order of their axes. Throws ConfigError that
/// names the file if it holds other rows, or such as no training leaves: messages or samples that
/// are missing or stand twice, sizes that are none, times that are negative or beyond an hour.
std::vector<CommunicationProfile> read_profiles(const ResultFile& file);

/// Messages of one collective of 2^exponent bytes or more, but less than twice as many.
struct SizeBucket {
  std::string collective;
  int exponent = 0;
  std::size_t calls = 0;          ///< in all iterations
  std::size_t powers_of_two = 0;  ///< of them: those of just 2^exponent bytes
  std::size_t fused = 0;          ///< of them: those that carry several layers
  std::size_t untold = 0;         ///< of them: those of which it is not told how many they carry
  Bytes bytes = {};               ///< of all calls
  Seconds time = {};              ///< of all calls, each as long as on its last rank
  Seconds power_time = {};        ///< of those of just 2^exponent bytes
  Seconds fused_time = {};        ///< of those that carry several layers
  Summary call = {};              ///< of one call (s)
  double share = 0;               ///< of the time of all messages of the profile; 0 if that is 0
};

/// By collective, then by size.
std::vector<SizeBucket> size_buckets(const CommunicationProfile& profile);

/// k so that 2^k ≤ bytes < 2^(k+1). Requires bytes ≥ 1.
int size_exponent(std::int64_t bytes);
/// Requires bytes ≥ 1.
bool is_power_of_two(std::int64_t bytes);

/// As long as on the last rank.
Seconds slowest(const ProfiledMessage& message);

}  // namespace dlscale
