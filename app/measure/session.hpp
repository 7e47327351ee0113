#pragma once
#include <memory>
#include <string>

#include "backend/comm/communicator.hpp"
#include "backend/comm/same_settings.hpp"
#include "backend/comm/watchdog/watchdog.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::app {

/// How the command line joins and binds the ranks of this process.
struct SessionOptions {
  std::string comm = "auto";  ///< auto, or a member of the family of communicators
  backend::DataPlace gradients = backend::DataPlace::host;
  int ranks = 0;              ///< number of ranks that the user expects; 0 = as launched
  int cores_per_rank = 0;     ///< 0 = an even share of the node
  std::string results;        ///< path that is named if a rank dies
  backend::Settings settings;  ///< in which all ranks must agree
  double patience_s = backend::WatchdogOptions{}.patience.si();  ///< see WatchdogOptions
};

/// The ranks that this process runs with: connected, counted, bound to their cores and watched.
/// Signals are handled in a thread of their own, so create the session before any computation.
class Session {
 public:
  explicit Session(const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] backend::Communicator& communicator() { return *connection_.communicator; }
  /// The communicator's name in its family.
  [[nodiscard]] const std::string& communicator_name() const { return connection_.name; }
  [[nodiscard]] int cores_per_rank() const { return cores_per_rank_; }
  /// The ranks of each node: "n1: 0-3, n2: 4-7".
  [[nodiscard]] const std::string& ranks_by_host() const { return ranks_by_host_; }
  /// Ends the connection on all ranks. Collective.
  void close();

 private:
  SignalThread signals_;  ///< first: libraries that join ranks start threads
  std::unique_ptr<backend::Communicator> launched_;  ///< joined while the connection is
  backend::Connection connection_;
  std::unique_ptr<backend::Watchdog> watchdog_;
  int cores_per_rank_ = 1;
  std::string ranks_by_host_;
};

}  // namespace dlscale::app
