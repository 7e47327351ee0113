#pragma once
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/comm/elements.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/results/communication_profile.hpp"

namespace dlscale::bench {

/// Element type of training's gradients, which a replay sends.
inline constexpr backend::ElementType replayed_element = backend::ElementType::f32;

/// When a replay posts its messages: at the profile's times, or as soon as the previous one is
/// done.
enum class Gaps { recorded, none };

/// The profile to replay and the conditions.
struct ReplayPlan {
  CommunicationProfile profile = {};
  Gaps gaps = Gaps::recorded;
  /// Wait policy of the barrier before messages.
  backend::Waiting waiting = backend::Waiting::sleep;
  /// Whether a barrier comes before each message, as where a thread sends while others compute, or
  /// only before the first of an iteration.
  bool meets_each = true;
  std::vector<std::string> warnings = {};  ///< warnings for every row
};

/// A message at a position in the iteration, and a row of a replay.
struct ReplayedMessage {
  std::size_t place = 0;
  std::string collective;
  /// Size on these ranks: rounded up to equal blocks where the collective has blocks.
  std::size_t bytes = 0;
  std::optional<Rank> root = {};  ///< among these ranks, for a reduce or broadcast
  auto operator<=>(const ReplayedMessage&) const = default;
};

/// A message of an iteration in a profile, which must outlive it.
struct ReplayStep {
  ReplayedMessage message;
  const ProfiledMessage* recorded = nullptr;
};

/// Replays the iterations of a profile in a cycle, until there are enough samples and each ran at
/// least once. It sends messages of the recorded collectives and sizes in f32, each in its own
/// memory, which is written before the iteration. As many messages are in flight at once as in the
/// recording.
///
/// The number of ranks may differ from the recording: rank r posts at the times of recorded rank r
/// modulo the recorded number, and root r becomes r modulo the current number. Each message is
/// first checked exactly.
class Replay {
 public:
  /// Throws ConfigError for an unknown collective, and for sizes that are not whole elements.
  Replay(ReplayPlan plan, int ranks);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() = default;

  /// The messages to measure, besides whole iterations.
  [[nodiscard]] std::set<ReplayedMessage> messages() const;

  /// The row of a message, or of whole iterations if `what` is empty: series "time" of the replay
  /// and "recorded" of the profile. The first request for a row uses the previous replay, if there
  /// is one; a repeated request replays anew. Collective.
  Measurement measure(const std::optional<ReplayedMessage>& what, const Sampler& sampler);

 private:
  /// By rank, then in the order of the iterations.
  using Times = std::vector<std::vector<double>>;

  void carry_out(const Sampler& sampler);
  [[nodiscard]] Measurement row(const ReplayedMessage& what, double wanted_width) const;
  [[nodiscard]] Times recorded(const std::optional<ReplayedMessage>& what) const;

  ReplayPlan plan_;
  std::vector<std::vector<ReplayStep>> iterations_;
  std::set<std::optional<ReplayedMessage>> given_;  ///< rows returned from the last replay
  std::optional<Measurement> whole_;                ///< of the last replay
  std::map<ReplayedMessage, Times> times_;  ///< of the last replay; empty if it has no times
};

}  // namespace dlscale::bench
