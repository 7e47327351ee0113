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

/// An iteration that was carried out: which of the profile, and how long each message took here.
struct ReplayedIteration {
  std::size_t number = 0;
  std::vector<double> times;  ///< s
};

/// Sends the messages of a replay on this rank. All calls are made by all ranks.
class ReplayCarrier {
 public:
  /// Takes memory. Both arguments and the communicator outlive it. Throws Unsupported, on all ranks
  /// alike, if that is not free or a message cannot be sent so.
  ReplayCarrier(const ReplayPlan& plan, const std::vector<std::vector<ReplayStep>>& iterations,
                backend::Communicator& ranks);

  /// Sends each message at least once, as many at once as later. Returns what came out wrong, the
  /// same on all ranks; empty if nothing did.
  std::string check();
  /// Writes ones, of which sums stay small, to what will be sent.
  void fill() { static_cast<void>(memory_->next()); }
  /// The next iteration: the time from its beginning to the end of its last message on this rank.
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
    Seconds posted;         ///< since the iteration began
    std::size_t under_way;  ///< when it is begun

    [[nodiscard]] Traffic& traffic() const { return *lane->second.traffic; }
  };
  using Iteration = std::vector<Sending>;

  void take_memory();
  [[nodiscard]] std::string check(const Iteration& iteration);
  std::vector<double> send(const Iteration& iteration, Gaps gaps);

  const ReplayPlan* plan_;
  backend::Communicator* ranks_;
  backend::Mode mode_;  ///< nonblocking if any are under way at once
  Lanes lanes_;
  std::vector<Iteration> iterations_;
  std::optional<RotatingBuffers> memory_;
  std::vector<ReplayedIteration> done_;
};

}  // namespace dlscale::bench
