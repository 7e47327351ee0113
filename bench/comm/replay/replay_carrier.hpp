#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/comm/replay/replay.hpp"
#include "bench/comm/traffic/rotating_buffers.hpp"
#include "bench/comm/traffic/traffic.hpp"

namespace dlscale::bench {

/// A replayed iteration: its index in the profile, and the time of each message on this rank.
struct ReplayedIteration {
  std::size_t number = 0;
  std::vector<double> times;  ///< s
};

/// Sends the messages of a replay on this rank. All calls are collective.
class ReplayCarrier {
 public:
  /// Allocates memory. Both arguments and the communicator must outlive it. Throws Unsupported on
  /// all ranks if memory is short or a message cannot be sent this way.
  ReplayCarrier(const ReplayPlan& plan, const std::vector<std::vector<ReplayStep>>& iterations,
                backend::Communicator& ranks);

  /// Sends each message at least once, as many at once as later. Returns the errors found, the same
  /// on all ranks; empty if there are none.
  std::string check();
  /// Fills the messages to send with ones, whose sums stay small.
  void fill() { static_cast<void>(memory_->next()); }
  /// Sends the next iteration. Returns the time from its start to the end of its last message on
  /// this rank.
  Seconds iterate();
  [[nodiscard]] const std::vector<ReplayedIteration>& done() const { return done_; }

 private:
  struct Lane {
    std::unique_ptr<Traffic> traffic;
    std::span<std::byte> memory;
  };
  using Lanes = std::map<ReplayedMessage, Lane>;
  struct Sending {
    const Lanes::value_type* lane;
    Seconds posted;         ///< since the start of the iteration
    std::size_t under_way;  ///< messages in flight when it starts

    [[nodiscard]] Traffic& traffic() const { return *lane->second.traffic; }
  };
  using Iteration = std::vector<Sending>;

  void take_memory();
  [[nodiscard]] std::string check(const Iteration& iteration);
  std::vector<double> send(const Iteration& iteration, Gaps gaps);

  const ReplayPlan* plan_;
  backend::Communicator* ranks_;
  backend::Mode mode_;  ///< nonblocking if messages overlap
  Lanes lanes_;
  std::vector<Iteration> iterations_;
  std::optional<RotatingBuffers> memory_;
  std::vector<ReplayedIteration> done_;
};

}  // namespace dlscale::bench
