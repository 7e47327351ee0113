#pragma once
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "core/results/communication_profile.hpp"

namespace dlscale::bench {

/// When the messages of a replay are handed over: as the profile has it, or as soon as the one
/// before is done.
enum class Gaps { recorded, none };

/// What is carried out, and how.
struct ReplayPlan {
  CommunicationProfile profile = {};
  Gaps gaps = Gaps::recorded;
  backend::Waiting waiting = backend::Waiting::sleep;  ///< how ranks meet before messages
  /// Whether they meet before each, as where a thread sends them while others compute, or only
  /// before the first of an iteration.
  bool meets_each = true;
  std::vector<std::string> warnings = {};  ///< for every row
};

/// A message at a place in the iteration, and a row of a replay.
struct ReplayedMessage {
  std::size_t place = 0;
  std::string collective;
  std::size_t bytes = 0;  ///< on these ranks: what is made of blocks is rounded up to equal ones
  std::optional<Rank> root = {};  ///< of these ranks, of a reduce or broadcast
  auto operator<=>(const ReplayedMessage&) const = default;
};

/// A message of an iteration, of a profile that outlives it.
struct ReplayStep {
  ReplayedMessage message;
  const ProfiledMessage* recorded = nullptr;
};

/// Carries out the iterations of a profile one after the other and again from the first, as often
/// as samples are wanted, each at least once: messages of the recorded collectives and sizes, of
/// f32, each in memory of its own that was written before the iteration. As many are under way at
/// once as were. The ranks may be others than were recorded: rank r hands over when rank r modulo
/// the recorded ones did, and root r is rank r modulo these. Each message is checked, exactly,
/// before.
class Replay {
 public:
  /// Throws ConfigError for a collective that is none and sizes that are not whole elements.
  Replay(ReplayPlan plan, int ranks);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() = default;

  /// What there is to measure beside whole iterations.
  [[nodiscard]] std::set<ReplayedMessage> messages() const;

  /// The row of a message, or (nothing given) of whole iterations: series "time" of the replay and
  /// "recorded" of the profile. What is asked for once comes from the carrying out before, if there
  /// was one; what is asked for again is carried out anew. Collective.
  Measurement measure(const std::optional<ReplayedMessage>& what, const Sampler& sampler);

 private:
  /// By rank, in the order of the iterations.
  using Times = std::vector<std::vector<double>>;

  void carry_out(const Sampler& sampler);
  [[nodiscard]] Measurement row(const ReplayedMessage& what, double wanted_width) const;
  [[nodiscard]] Times recorded(const std::optional<ReplayedMessage>& what) const;

  ReplayPlan plan_;
  std::vector<std::vector<ReplayStep>> iterations_;
  std::set<std::optional<ReplayedMessage>> given_;  ///< of the last carrying out
  std::optional<Measurement> whole_;                ///< of the last carrying out
  std::map<ReplayedMessage, Times> times_;          ///< likewise; empty if it has no times
};

}  // namespace dlscale::bench
