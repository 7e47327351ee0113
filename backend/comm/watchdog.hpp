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
  Seconds heartbeat{1.0};  ///< between two signs of life over TCP
  Seconds patience{15.0};  ///< silence over TCP after which a rank counts as dead
  /// What a rank is given to end by itself after a signal or another rank's failure. Open MPI's
  /// mpirun kills for good 1 s after its first signal, so this is less.
  Seconds grace{0.7};
};

/// Ends this process within seconds of the death of another rank: a rank that waits in a collective
/// for a dead one would hang for ever. Every rank holds a connection to rank 0. The system closes
/// it when a process ends, however it ends; a rank that leaves says so first, so a connection that
/// ends without a word is a death, and so is silence between nodes. Prints "rank 3 (process 4711 on
/// node n2) died …" (rank 0 for all; if rank 0 died, one rank a node), and exits with
/// ExitCode::wrong_result.
///
/// A signal that the launcher sends on behalf of a dead rank is reported as that death, not as a
/// user's interrupt. After a user's signal a rank that is caught in a collective, where it cannot
/// look at pending_signal(), is ended with 130 or 143 once `grace` is over. A signal to one rank
/// ends all of them so; rank 0 prints which it was.
///
/// MPICH's mpiexec kills all ranks outright when one dies, so that the sentence may come too late;
/// with its option -disable-auto-cleanup the watchdog has the word.
///
/// An exception that unwinds past the watchdog tells the other ranks that this one failed; they end
/// too. Make it before the work and inside the try of main, after install_signal_handlers().
class Watchdog {
 public:
  /// Collective. `results` is named in the message as what is kept; may be empty. Warns on rank 0
  /// of ranks that it cannot watch.
  Watchdog(Communicator& communicator, std::filesystem::path results, WatchdogOptions options = {});
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// Collective, before ranks leave in good order: from here on a vanished rank is no death.
  void dismiss();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::backend
