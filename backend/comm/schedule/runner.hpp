#pragma once
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::backend {

class ScheduleLane;

/// Carries out schedules among the ranks of a communicator in every mode, several at once.
///
/// Those that do not block travel on a duplicate of the communicator, each with a tag of its own
/// (of 32767, in turn). A rank moves all of them on, round by round, whenever it asks or waits for
/// one, as a library does, so that ranks may wait for them in different orders. Nothing moves on
/// meanwhile. Persistent ones have their requests made once, for every round.
///
/// One that goes while it is under way is given up by this rank: it receives no more. Between
/// threads, ranks that need more of it get a LibraryError; over MPI they wait, as for a rank that
/// is gone. What this rank was sending is read until it is sent, also from memory of the call.
///
/// One thread at a time uses a runner and what it has prepared, which may outlive it but not the
/// communicator.
class ScheduleRunner {
 public:
  explicit ScheduleRunner(Communicator& ranks) : ranks_(&ranks) {}

  /// Collective. As prepare_schedule(), in that mode. Throws Unsupported, on all ranks alike, also
  /// for a communicator that has no prepare_exchange().
  [[nodiscard]] std::unique_ptr<PreparedCollective> prepare(const collective::Schedule& schedule,
                                                            const CollectiveCall& call, Mode mode);

 private:
  Communicator* ranks_;
  std::shared_ptr<ScheduleLane> lane_;  ///< from the first that does not block
};

}  // namespace dlscale::backend
