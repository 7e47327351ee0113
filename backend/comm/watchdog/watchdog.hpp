#pragma once
#include <filesystem>
#include <memory>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"

namespace dlscale::backend {

/// How ranks watch each other. The defaults suit every cluster; tests shorten them.
struct WatchdogOptions {
  enum class Link {
    automatic,  ///< a local socket on the same node, TCP between nodes
    tcp,        ///< TCP everywhere
  };
  Link link = Link::automatic;
  Seconds heartbeat{1.0};  ///< interval between two heartbeats over TCP
  Seconds patience{15.0};  ///< silence over TCP after which a rank counts as dead
  /// Time in which a rank may end by itself after a signal or another rank's failure. Open MPI's
  /// mpirun sends SIGKILL 1 s after its first signal, so this is less.
  Seconds grace{0.7};
};

/// Ends this process within seconds of the death of another rank; otherwise a rank in a collective
/// would wait for the dead one for ever. Every rank holds a connection to rank 0. The system closes
/// it when a process ends for any reason. A rank that leaves says so first, so a connection that
/// closes without a message means a death, and so does silence between nodes. Prints "rank 3
/// (process 4711 on node n2) died …" (rank 0 for all; if rank 0 died, one rank per node) and exits
/// with ExitCode::wrong_result.
///
/// A signal that the launcher sends because of a dead rank is reported as that death, not as a
/// user's interrupt. After a user's signal, a rank inside a collective cannot check
/// pending_signal(); it ends with 130 or 143 after `grace`. A signal to one rank ends all of them
/// this way; rank 0 prints which rank received it.
///
/// MPICH's mpiexec kills all ranks when one dies, so the message may come too late; with its option
/// -disable-auto-cleanup the watchdog reports the death.
///
/// An exception that unwinds past the watchdog reports to the other ranks that this one failed;
/// they end too. Construct it before the work and inside the try of main, after
/// install_signal_handlers().
class Watchdog {
 public:
  /// Collective. The message names `results` as the kept results; may be empty. Rank 0 warns of
  /// ranks that it cannot watch.
  Watchdog(Communicator& communicator, std::filesystem::path results, WatchdogOptions options = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// Collective. Call it before ranks leave in good order: afterwards a vanished rank does not
  /// count as dead.
  void dismiss();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::backend
