#pragma once
#include <exception>
#include <functional>

#include "backend/comm/communicator.hpp"
#include "bench/comm/overlap/beside_work.hpp"
#include "bench/comm/overlap/message_thread.hpp"
#include "bench/comm/overlap/overlap.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Work alone, messages alone and both at once. The work runs on the calling thread, the messages
/// on one of their own, whose ranks meet before they begin, as the exchange of gradients does in
/// training. All calls but throw_failure() are collective, and the ranks meet before each.
///
/// What the work throws is kept: after that it is not done any more, but this rank goes on meeting
/// the others, for whom it would be missed.
class BesideRounds {
 public:
  /// `ranks` is for the calling thread, `carrier` (of the same ranks) for the traffic; all outlive
  /// it. `waiting`: how ranks meet before the messages.
  BesideRounds(backend::Communicator& ranks, backend::Communicator& carrier, Traffic& traffic,
               BesideWork& work, backend::Waiting waiting)
      : ranks_(&ranks), carrier_(&carrier), traffic_(&traffic), work_(&work), waiting_(waiting) {}

  /// How often a round does the work: once, if it is not set.
  void set_runs(int runs) { runs_ = runs; }
  [[nodiscard]] int runs() const { return runs_; }

  Seconds compute();
  /// Once the ranks have met, as of all messages.
  Seconds send();
  /// What both took at once; nothing of them alone.
  OverlapTimes both();
  /// All three, beginning with the next of them from round to round. `prepare` comes before each of
  /// the two that send, and is not timed; whatever it throws, it throws on all ranks.
  OverlapTimes round(const std::function<void()>& prepare);

  /// When this rank was in the messages of the last both().
  [[nodiscard]] const Stay& stay() const { return stay_; }

  /// Collective: throws on all ranks what the work threw on one.
  void throw_failure() const;

 private:
  void do_work();
  void carry();

  backend::Communicator* ranks_;
  backend::Communicator* carrier_;
  Traffic* traffic_;
  BesideWork* work_;
  backend::Waiting waiting_;
  int runs_ = 1;
  int first_ = 0;  ///< of the three, in the next round
  Seconds carried_;
  Stay stay_;
  std::exception_ptr failure_;
  MessageThread thread_;  ///< last: ends before what it uses goes
};

}  // namespace dlscale::bench
