#pragma once
#include <filesystem>
#include <memory>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// Ends this process within seconds of the death of another rank: a rank that waits in a collective
/// for a dead one would hang for ever. On the same node a rank is dead when its process is gone; on
/// another node when its heartbeat stops. Prints "rank 3 (process 4711 on node n2) died; …" once
/// per job if possible, and exits with ExitCode::wrong_result. SIGTERM sent by the launcher on
/// behalf of a dead rank is reported as that death, not as a user's interrupt.
class Watchdog {
 public:
  /// Collective. `results` is named in the message as what is kept; may be empty.
  Watchdog(Communicator& communicator, std::filesystem::path results);
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
