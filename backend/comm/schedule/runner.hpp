#pragma once
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

class ScheduleLane;

/// Executes schedules among the ranks of a communicator in every mode, several at once.
///
/// Nonblocking ones run on a duplicate of the communicator, each with its own tag (one of 32767, in
/// turn). Whenever a rank tests or waits for one, it makes all of them progress, round by round, as
/// a library does. So ranks may wait for them in different orders. Nothing progresses in between.
/// Persistent ones create their requests once, for every round.
///
/// If a collective is destroyed while it is under way, this rank abandons it and receives no more.
/// Between threads, ranks that need more of it get a LibraryError; over MPI they wait, as for a
/// rank that is gone. The data that this rank was sending is read until it is sent, also from
/// memory of the call.
///
/// One thread at a time uses a runner and the collectives it has prepared. They may outlive the
/// runner but not the communicator.
class ScheduleRunner {
 public:
  explicit ScheduleRunner(Communicator& ranks) : ranks_(&ranks) {}

  /// Collective. As prepare_schedule(), in that mode. Also throws Unsupported, on all ranks alike,
  /// for a communicator without prepare_exchange().
  [[nodiscard]] std::unique_ptr<PreparedCollective> prepare(const collective::Schedule& schedule,
                                                            const CollectiveCall& call, Mode mode);

 private:
  Communicator* ranks_;
  std::shared_ptr<ScheduleLane> lane_;  ///< created by the first nonblocking collective
};

}  // namespace dlscale::backend
